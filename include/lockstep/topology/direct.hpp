// SPDX-License-Identifier: MIT
/// @file
/// Topology Direct: everybody sends everybody's chunk straight to its owner, who adds them all in rank order.
/// Idea: rank r owns chunk r. All contributions to it are kept until the last has come, then added as 0 + 1 + 2 + ...,
///       whoever came first: the same bits as Naive, from a topology that uses all links.
/// Cost: 2(W-1) messages, which pass through nobody's hands on the way; 2n(W-1)/W bytes sent by every rank, the least
///       that any all-reduce can do; scratch memory of n(W-1)/W bytes.
/// Choose it when: W is small (to about 16), or the order of addition must be that of the ranks.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

struct Direct {
    static constexpr const char* name = "direct";

    static constexpr int chunks(int world_size) noexcept { return world_size; }
    static constexpr bool owns(int rank, int, int chunk) noexcept { return rank == chunk; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        for (int shift = 1; shift < world_size; ++shift) {
            const int to = (rank + shift) % world_size;
            const int from = (rank + world_size - shift) % world_size;
            emit(Step{.send = {to, to, 1}, .receive = {from, rank, 1}, .fold = Fold::keep});
        }
        if (world_size > 1) emit(Step{.receive = {-1, rank, 1}, .fold = Fold::add_kept});
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        for (int shift = 1; shift < world_size; ++shift) {
            const int to = (rank + shift) % world_size;
            const int from = (rank + world_size - shift) % world_size;
            emit(Step{.send = {to, rank, 1}, .receive = {from, from, 1}});
        }
    }
};

}  // namespace lockstep
