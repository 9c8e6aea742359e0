// SPDX-License-Identifier: MIT
/// @file
/// Topology HalvingDoubling: partners swap halves of what they are responsible for, until each owns one chunk.
/// Idea: Rabenseifner's algorithm. Partners at distance P/2, P/4, ..., 1 each send the half that the other keeps (P: the
///       largest power of two up to W); the way back doubles what is known. Order of addition: by the highest bit first.
/// Cost: 2 lg P rounds, 2n(P-1)/P bytes; for other world sizes two rounds and up to 2n bytes more.
/// Choose it when: messages are long and W is a power of two, so that rounds count less than with Ring.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005.
#pragma once

#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/butterfly.hpp>

namespace lockstep {

struct HalvingDoubling {
    static constexpr const char* name = "halving_doubling";

    static constexpr int chunks(int world_size) noexcept { return detail::core_size(world_size); }
    static constexpr bool owns(int rank, int, int chunk) noexcept { return rank == chunk; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        const int core = detail::core_size(world_size);
        detail::fold_extras(rank, world_size, core, emit);
        for (int size = core / 2; size > 0 && rank < core; size /= 2) {
            const int partner = rank ^ size;
            emit(Step{.send = {partner, block(partner, size), size},
                      .receive = {partner, block(rank, size), size},
                      .fold = Fold::add});
        }
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        const int core = detail::core_size(world_size);
        for (int size = 1; size < core && rank < core; size *= 2) {
            const int partner = rank ^ size;
            emit(Step{.send = {partner, block(rank, size), size}, .receive = {partner, block(partner, size), size}});
        }
        detail::inform_extras(rank, world_size, core, emit);
    }

private:
    /// The first of the `size` chunks that `rank` is responsible for when blocks have that size.
    static constexpr int block(int rank, int size) noexcept { return rank & ~(size - 1); }
};

}  // namespace lockstep
