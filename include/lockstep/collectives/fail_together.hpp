// SPDX-License-Identifier: MIT
/// @file
/// What ends one rank's work ends everybody's.
#pragma once

#include <utility>

#include <lockstep/core/concepts.hpp>

namespace lockstep {

/// Calls `work()`. An exception that leaves it is told to all ranks, whose calls then throw it too, and goes on here.
template <FailsTogether Link, class Work>
auto fail_together(Link& link, Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (...) {
        link.fail(current_failure(link.rank()));
        throw;
    }
}

}  // namespace lockstep
