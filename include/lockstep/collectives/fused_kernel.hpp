// SPDX-License-Identifier: MIT
/// @file
/// The loop of the fused all-reduce: loads every rank's value, combines them in registers in rank order, lets the owner
/// act, stores to all. Each line of memory is read once and written once.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

#include <lockstep/collectives/owner_action.hpp>
#include <lockstep/collectives/reduction.hpp>

namespace lockstep::detail {

/// Elements `begin` to `end` of buffers: `sources[r]` is rank r's; the result goes to all `targets`.
template <class Scalar>
struct FusedPieces {
    std::span<std::byte* const> sources;
    std::span<std::byte* const> targets;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t offset = 0;  ///< of element 0 in the buffer that the owner's action knows

    [[gnu::always_inline]] const Scalar* source(std::size_t rank) const noexcept {
        return reinterpret_cast<const Scalar*>(sources[rank]);
    }
    [[gnu::always_inline]] Scalar* target(std::size_t index) const noexcept {
        return reinterpret_cast<Scalar*>(targets[index]);
    }
};

/// Sums in vectors of `Width` bytes. `World` is the number of sources, or 0 if that is known only at run time.
template <int Width, std::size_t World, class Scalar, class Action>
[[gnu::always_inline]] inline void fuse_sums(const FusedPieces<Scalar>& pieces, const Action& action) noexcept {
    using Vector [[gnu::vector_size(Width)]] = Scalar;
    // The same in memory, where only elements are aligned.
    using Memory [[gnu::vector_size(Width), gnu::aligned(alignof(Scalar)), gnu::may_alias]] = Scalar;
    constexpr std::size_t lanes = static_cast<std::size_t>(Width) / sizeof(Scalar);
    constexpr std::size_t at_once = 4;
    constexpr std::size_t turns_ahead = 4;
    const std::size_t world = World > 0 ? World : pieces.sources.size();
    const std::size_t target_count = pieces.targets.size();
    std::size_t at = pieces.begin;
    // A line of another rank that is first read, and then written, crosses between the cores twice: it is asked for to be
    // written at once, some turns ahead.
    const auto prefetch = [&](std::size_t first) {
        for (std::size_t target = 0; target < target_count; ++target) {
            for (std::size_t part = 0; part < at_once; ++part) {
                __builtin_prefetch(pieces.target(target) + first + part * lanes, 1);
            }
        }
    };
    for (; at + at_once * lanes <= pieces.end; at += at_once * lanes) {
        if (at + (turns_ahead + 1) * at_once * lanes <= pieces.end) prefetch(at + turns_ahead * at_once * lanes);
        Vector sum[at_once];
        for (std::size_t part = 0; part < at_once; ++part) {
            sum[part] = *reinterpret_cast<const Memory*>(pieces.source(0) + at + part * lanes);
        }
        for (std::size_t rank = 1; rank < world; ++rank) {
            for (std::size_t part = 0; part < at_once; ++part) {
                sum[part] += *reinterpret_cast<const Memory*>(pieces.source(rank) + at + part * lanes);
            }
        }
        for (std::size_t part = 0; part < at_once; ++part) action.apply_to(sum[part]);
        for (std::size_t target = 0; target < target_count; ++target) {
            for (std::size_t part = 0; part < at_once; ++part) {
                *reinterpret_cast<Memory*>(pieces.target(target) + at + part * lanes) = sum[part];
            }
        }
    }
    for (; at < pieces.end; ++at) {
        Scalar sum = pieces.source(0)[at];
        for (std::size_t rank = 1; rank < world; ++rank) sum += pieces.source(rank)[at];
        action.apply_to(sum);
        for (std::size_t target = 0; target < target_count; ++target) pieces.target(target)[at] = sum;
    }
}

/// Worlds of 2 to 8 have a loop of their own, unrolled over the ranks.
template <int Width, class Scalar, class Action>
[[gnu::always_inline]] inline void fuse_any(const FusedPieces<Scalar>& pieces, const Action& action) noexcept {
    switch (pieces.sources.size()) {
        case 2: return fuse_sums<Width, 2>(pieces, action);
        case 3: return fuse_sums<Width, 3>(pieces, action);
        case 4: return fuse_sums<Width, 4>(pieces, action);
        case 5: return fuse_sums<Width, 5>(pieces, action);
        case 6: return fuse_sums<Width, 6>(pieces, action);
        case 7: return fuse_sums<Width, 7>(pieces, action);
        case 8: return fuse_sums<Width, 8>(pieces, action);
        default: return fuse_sums<Width, 0>(pieces, action);
    }
}

template <class Scalar, class Action>
void fuse_baseline(const FusedPieces<Scalar>& pieces, const Action& action) noexcept {
    fuse_any<16>(pieces, action);
}
#if defined(__x86_64__)
template <class Scalar, class Action>
[[gnu::target("avx2,prfchw")]] void fuse_avx2(const FusedPieces<Scalar>& pieces, const Action& action) noexcept {
    fuse_any<32>(pieces, action);
}
template <class Scalar, class Action>
[[gnu::target("avx512f,prfchw")]] void fuse_avx512(const FusedPieces<Scalar>& pieces, const Action& action) noexcept {
    fuse_any<64>(pieces, action);
}
#endif

/// Any operator, any type, any action: tile by tile, each of which stays in the first-level cache.
template <class Operator, class Scalar, class Action>
void fuse_tiles(const FusedPieces<Scalar>& pieces, Action& action) {
    // Longer pieces are copied by one string instruction, which waits for lines of other ranks: some libraries' memcpy.
    constexpr std::size_t tile_size = 2048 / sizeof(Scalar);
    std::array<Scalar, tile_size> tile;
    const Combine combine = combine_of<Operator, Scalar>();
    for (std::size_t at = pieces.begin; at < pieces.end; at += tile_size) {
        const std::size_t size = (std::min)(tile_size, pieces.end - at);
        // As in fuse_sums: lines of another rank are asked for early, and to be written.
        for (std::size_t target = 0; target < pieces.targets.size(); ++target) {
            for (std::size_t line = 0; line < size; line += 64 / sizeof(Scalar)) {
                __builtin_prefetch(pieces.target(target) + at + line, 1);
            }
        }
        std::memcpy(tile.data(), pieces.source(0) + at, size * sizeof(Scalar));
        for (std::size_t rank = 1; rank < pieces.sources.size(); ++rank) {
            combine(reinterpret_cast<std::byte*>(tile.data()),
                    reinterpret_cast<const std::byte*>(pieces.source(rank) + at), size * sizeof(Scalar));
        }
        action(std::span<Scalar>(tile.data(), size), pieces.offset + at);
        for (std::size_t target = 0; target < pieces.targets.size(); ++target) {
            std::memcpy(pieces.target(target) + at, tile.data(), size * sizeof(Scalar));
        }
    }
}

template <class Operator, class Scalar, class Action>
void fuse(const FusedPieces<Scalar>& pieces, Action& action) {
    if constexpr (std::same_as<Operator, Sum> && std::floating_point<Scalar> && ElementwiseAction<Action, Scalar>) {
#if defined(__x86_64__)
        if (widest_isa() == Isa::avx512) return fuse_avx512(pieces, action);
        if (widest_isa() == Isa::avx2) return fuse_avx2(pieces, action);
#endif
        fuse_baseline(pieces, action);
    } else {
        fuse_tiles<Operator>(pieces, action);
    }
}

}  // namespace lockstep::detail
