// SPDX-License-Identifier: MIT
/// @file
/// What butterflies share: partners are found by flipping a bit of the rank, so they need a power of two. Ranks beyond it
/// are extras: each hands its values to one rank of the core before, and hears from it afterwards.
#pragma once

#include <lockstep/core/step.hpp>

namespace lockstep::detail {

/// The largest power of two that is not above `world_size`.
constexpr int core_size(int world_size) noexcept {
    int size = 1;
    while (size <= world_size / 2) size *= 2;
    return size;
}

template <class Emit>
constexpr void fold_extras(int rank, int world_size, int chunks, Emit&& emit) {
    const int core = core_size(world_size);
    if (rank >= core) return emit(Step{.send = {rank - core, 0, chunks}});
    if (rank + core < world_size) emit(Step{.receive = {rank + core, 0, chunks}, .fold = Fold::add});
}

template <class Emit>
constexpr void inform_extras(int rank, int world_size, int chunks, Emit&& emit) {
    const int core = core_size(world_size);
    if (rank >= core) return emit(Step{.receive = {rank - core, 0, chunks}});
    if (rank + core < world_size) emit(Step{.send = {rank + core, 0, chunks}});
}

}  // namespace lockstep::detail
