// SPDX-License-Identifier: MIT
/// @file
/// Topology Naive: rank 0 collects everything, in rank order, and hands the result back.
/// Idea: the parameter server. Order of addition: ((0 + 1) + 2) + ...
/// Cost: 2(W-1) rounds at rank 0, 2(W-1)n bytes through it; every other rank sends n and receives n.
/// Choose it when: W is 2, messages are tiny, or you want the plainest reference there is.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

struct Naive {
    static constexpr const char* name = "naive";

    static constexpr int chunks(int) noexcept { return 1; }
    static constexpr bool owns(int rank, int, int) noexcept { return rank == 0; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        if (rank != 0) return emit(Step{.send = {0, 0, 1}});
        for (int peer = 1; peer < world_size; ++peer) emit(Step{.receive = {peer, 0, 1}, .fold = Fold::add});
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        if (rank != 0) return emit(Step{.receive = {0, 0, 1}});
        for (int peer = 1; peer < world_size; ++peer) emit(Step{.send = {peer, 0, 1}});
    }
};

}  // namespace lockstep
