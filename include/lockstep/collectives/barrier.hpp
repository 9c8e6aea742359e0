// SPDX-License-Identifier: MIT
/// @file
/// barrier: nobody leaves before everybody has come.
#pragma once

#include <cstdint>
#include <span>

#include <lockstep/collectives/executor.hpp>
#include <lockstep/topology/tree.hpp>

namespace lockstep {

/// Returns when all ranks have called it. 2 ceil(lg W) rounds of empty messages. Errors: those of the transport.
template <Transport Link>
void barrier(Link& link) {
    Executor<Tree>& tree = detail::shared_reducer<Tree>();
    const Call call = tree.begin<std::uint8_t>(link, Operation::barrier, Reduction::none, 0);
    const std::span<std::uint8_t> nothing;
    tree.run_half(link, call, nothing, Half::reduce, combine_of<Sum, std::uint8_t>());
    tree.run_half(link, call, nothing, Half::distribute, nullptr);
}

}  // namespace lockstep
