// SPDX-License-Identifier: MIT
/// @file
/// The one rule by which anything (rows, elements, chunks) is cut into contiguous pieces.
#pragma once

#include <cstddef>
#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep {

/// A contiguous range: rows of a batch, elements of a buffer.
struct Shard {
    std::size_t begin = 0;
    std::size_t size = 0;

    constexpr std::size_t end() const noexcept { return begin + size; }
    friend constexpr bool operator==(Shard, Shard) = default;
};

/// The shard of `rank` when `rows` rows are cut into `world_size` contiguous shards.
///
/// Shards differ by at most one row, the longer ones come first, every row is in exactly one shard; a rank
/// beyond the last row has an empty shard.
/// @throws ConfigurationError if `world_size` is less than one or `rank` lies outside it.
constexpr Shard shard_of(std::size_t rows, int rank, int world_size) {
    if (world_size < 1) throw ConfigurationError("world_size must be at least 1, not " + std::to_string(world_size));
    if (rank < 0 || rank >= world_size) {
        throw ConfigurationError("rank " + std::to_string(rank) + " is outside a world of size " +
                                 std::to_string(world_size));
    }
    const auto pieces = static_cast<std::size_t>(world_size);
    const auto index = static_cast<std::size_t>(rank);
    const std::size_t base = rows / pieces;
    const std::size_t longer = rows % pieces;
    return {index * base + (index < longer ? index : longer), base + (index < longer ? 1U : 0U)};
}

}  // namespace lockstep
