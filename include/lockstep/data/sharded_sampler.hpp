// SPDX-License-Identifier: MIT
/// @file
/// ShardedSampler: the rows of one rank, for ranks that load their own rows.
/// Idea: of another sampler's order, rank r takes places r, r + W, r + 2 W, ... No row is repeated to even out ranks, none
///       is left out: some ranks have one row more.
/// Cost: that of the other sampler's order, on every rank.
/// Choose it when: each rank reads its rows from files of its own accord. (A global batch, as `backward` takes it, needs
///                 none: it is cut into shards there.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/data/sampler.hpp>

namespace lockstep {

///     const ShardedSampler sampler{ShuffledSampler{seed}, link.rank(), link.world_size()};
///     for (const std::size_t row : sampler.rows(dataset.size(), epoch)) ...
///
/// Ranks that take b of their rows at a time work on the rows that a global batch of b W has. Where ranks run out of rows at
/// different steps, those without go on with `backward_shard()`.
template <Sampler Order>
class ShardedSampler {
public:
    /// @throws ConfigurationError for a rank that is not below the world size
    ShardedSampler(Order order, int rank, int world_size) : order_(std::move(order)), rank_(rank), size_(world_size) {
        if (world_size < 1 || rank < 0 || rank >= world_size) {
            throw ConfigurationError(
                "ShardedSampler: there is no rank " + std::to_string(rank) + " of " + std::to_string(world_size), rank);
        }
    }

    /// Which of `total` rows this rank visits in the epoch, in order.
    std::vector<std::size_t> rows(std::size_t total, std::uint64_t epoch) const {
        std::vector<std::size_t> all(total);
        order_.fill(all, epoch);
        std::vector<std::size_t> own;
        const auto step = static_cast<std::size_t>(size_);
        for (std::size_t place = static_cast<std::size_t>(rank_); place < total; place += step)
            own.push_back(all[place]);
        return own;
    }

private:
    Order order_;
    int rank_;
    int size_;
};

}  // namespace lockstep
