// SPDX-License-Identifier: MIT
/// @file
/// Topology RecursiveDoubling: partners at distance 1, 2, 4, ... swap all they have, so that everyone has the sum at once.
/// Idea: the butterfly. Ranks beyond the largest power of two hand their values to a partner first and get the result
///       from it last. Order of addition: ((0 + 1) + (2 + 3)) + ..., where a partner's extra rank is added before all.
/// Cost: lg W rounds of n bytes each way (W a power of two), two rounds more otherwise.
/// Choose it when: messages are short: no other topology has fewer rounds.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005.
#pragma once

#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/butterfly.hpp>

namespace lockstep {

struct RecursiveDoubling {
    static constexpr const char* name = "recursive_doubling";

    static constexpr int chunks(int) noexcept { return 1; }
    static constexpr bool owns(int rank, int world_size, int) noexcept { return rank < detail::core_size(world_size); }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        detail::fold_extras(rank, world_size, 1, emit);
        const int core = detail::core_size(world_size);
        for (int bit = 1; bit < core && rank < core; bit *= 2) {
            emit(Step{.send = {rank ^ bit, 0, 1}, .receive = {rank ^ bit, 0, 1}, .fold = Fold::add});
        }
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        detail::inform_extras(rank, world_size, 1, emit);
    }
};

}  // namespace lockstep
