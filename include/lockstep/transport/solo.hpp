// SPDX-License-Identifier: MIT
/// @file
/// Transport Solo: a world of one rank.
/// Idea: there is nobody to talk to; collectives return what they were given, bit for bit.
/// Cost: none; it compiles to nothing.
/// Choose it when: the same program should also run alone.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

class Solo {
public:
    static constexpr int rank() noexcept { return 0; }
    static constexpr int world_size() noexcept { return 1; }

    /// Calls are not numbered: there is nobody to disagree with.
    static Call begin(const Request& request) noexcept { return {.request = request}; }
    static constexpr void exchange(const Call&, const Outgoing&, const Incoming&) noexcept {}
    static constexpr void fail(const Failure&) noexcept {}
    static constexpr Traffic traffic() noexcept { return {}; }
};

}  // namespace lockstep
