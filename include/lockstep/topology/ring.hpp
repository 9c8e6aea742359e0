// SPDX-License-Identifier: MIT
/// @file
/// Topology Ring: each chunk travels once round the ring to be summed, and once more to be known.
/// Idea: W chunks; in every step each rank sends one chunk to its right and receives another from its left, so all
///       links are busy all the time. Rank r owns chunk r: the first half is a reduce-scatter, the second an
///       all-gather. Order of addition: chunk c is summed from rank c + 1 round to rank c.
/// Cost: 2(W-1) rounds; 2n(W-1)/W bytes sent by every rank, the least that any all-reduce can do.
/// Choose it when: messages are long; time then hardly depends on W.
/// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

struct Ring {
    static constexpr const char* name = "ring";

    static constexpr int chunks(int world_size) noexcept { return world_size; }
    static constexpr bool owns(int rank, int, int chunk) noexcept { return chunk == rank; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        for (int step = 1; step < world_size; ++step) {
            emit(Step{.send = {right(rank, world_size), behind(rank, step, world_size), 1},
                      .receive = {left(rank, world_size), behind(rank, step + 1, world_size), 1},
                      .fold = Fold::add});
        }
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        for (int step = 0; step + 1 < world_size; ++step) {
            emit(Step{.send = {right(rank, world_size), behind(rank, step, world_size), 1},
                      .receive = {left(rank, world_size), behind(rank, step + 1, world_size), 1}});
        }
    }

private:
    static constexpr int right(int rank, int world_size) noexcept { return (rank + 1) % world_size; }
    static constexpr int left(int rank, int world_size) noexcept { return (rank + world_size - 1) % world_size; }
    /// The chunk `count` places behind `rank`'s own.
    static constexpr int behind(int rank, int count, int world_size) noexcept {
        return (rank + 2 * world_size - count) % world_size;
    }
};

}  // namespace lockstep
