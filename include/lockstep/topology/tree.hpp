// SPDX-License-Identifier: MIT
/// @file
/// Topology Tree: sums climb a binomial tree to rank 0, the result comes down the same way.
/// Idea: in round k, ranks whose lowest set bit is k hand their partial sum to the rank with that bit cleared.
///       Order of addition: ((0 + 1) + (2 + 3)) + ...
/// Cost: 2 ceil(lg W) rounds; every rank but 0 sends n up once; rank 0 moves n ceil(lg W) each way.
/// Choose it when: messages are short and W is large, so that rounds cost more than bytes.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

struct Tree {
    static constexpr const char* name = "tree";

    static constexpr int chunks(int) noexcept { return 1; }
    static constexpr bool owns(int rank, int, int) noexcept { return rank == 0; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        for (int bit = 1; bit < world_size; bit *= 2) {
            if ((rank & bit) != 0) return emit(Step{.send = {rank - bit, 0, 1}});
            if (rank + bit < world_size) emit(Step{.receive = {rank + bit, 0, 1}, .fold = Fold::add});
        }
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        int bit = 1;
        while (bit < world_size && (rank & bit) == 0) bit *= 2;
        if (rank != 0) emit(Step{.receive = {rank - bit, 0, 1}});
        while ((bit /= 2) > 0) {
            if (rank + bit < world_size) emit(Step{.send = {rank + bit, 0, 1}});
        }
    }
};

}  // namespace lockstep
