// SPDX-License-Identifier: MIT
/// @file
/// Topology Circulant: as few rounds as a tree and as few bytes as a ring, for any world size.
/// Idea: ranks in a circle; distances are W/2, W/4, ..., 1, rounded up. In each round of the first half, a rank sends all
///       chunks whose owners are at least that far ahead to the rank exactly that far ahead. The second half is the first
///       in reverse. Order of addition: fixed for each chunk, different between chunks.
/// Cost: 2 ceil(lg W) rounds; 2n(W-1)/W bytes sent by every rank, the least that any all-reduce can do. Where a run of
///       chunks passes the end of the buffer it goes as two messages.
///       Such a round takes longer than its bytes: long messages take up to 1.75 times as long as Ring's.
/// Choose it when: W is large and no power of two, and messages are not so long that only bytes count.
/// Source: Traeff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv 2410.14234, 2024.
#pragma once

#include <array>

#include <lockstep/core/concepts.hpp>

namespace lockstep {

struct Circulant {
    static constexpr const char* name = "circulant";

    static constexpr int chunks(int world_size) noexcept { return world_size; }
    static constexpr bool owns(int rank, int, int chunk) noexcept { return rank == chunk; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        for (int reach = world_size; reach > 1;) {
            const int skip = (reach + 1) / 2;
            // What lies from `skip` to `reach` ahead of me goes to the one who is `skip` ahead.
            swap({(rank + skip) % world_size, (rank + skip) % world_size, reach - skip},
                 {(rank + world_size - skip) % world_size, rank, reach - skip}, Fold::add, world_size, emit);
            reach = skip;
        }
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        std::array<int, 32> reaches{};
        std::size_t rounds = 0;
        for (int reach = world_size; reach > 1; reach = (reach + 1) / 2) reaches[rounds++] = reach;
        while (rounds > 0) {
            const int reach = reaches[--rounds];
            const int skip = (reach + 1) / 2;
            swap({(rank + world_size - skip) % world_size, rank, reach - skip},
                 {(rank + skip) % world_size, (rank + skip) % world_size, reach - skip}, Fold::copy, world_size, emit);
        }
    }

private:
    /// One round. Runs of chunks may pass the end of the circle: first what lies before it, then what lies behind.
    template <class Emit>
    static constexpr void swap(Transfer send, Transfer receive, Fold fold, int chunks, Emit&& emit) {
        emit(Step{before_end(send, chunks), before_end(receive, chunks), fold});
        const Step rest{behind_end(send, chunks), behind_end(receive, chunks), fold};
        if (rest.send.any() || rest.receive.any()) emit(rest);
    }
    static constexpr Transfer before_end(Transfer run, int chunks) noexcept {
        const int left = chunks - run.first_chunk;
        return {run.peer, run.first_chunk, run.chunk_count < left ? run.chunk_count : left};
    }
    static constexpr Transfer behind_end(Transfer run, int chunks) noexcept {
        const int count = run.first_chunk + run.chunk_count - chunks;
        return count > 0 ? Transfer{run.peer, 0, count} : Transfer{};
    }
};

}  // namespace lockstep
