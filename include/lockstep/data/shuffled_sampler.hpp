// SPDX-License-Identifier: MIT
/// @file
/// Sampler ShuffledSampler: every row once an epoch, in an order that each epoch draws anew.
/// Idea: a shuffle whose random stream is named by (seed, epoch).
/// Cost: one random number a row and epoch.
/// Choose it when: training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include <lockstep/core/random.hpp>
#include <lockstep/data/sampler.hpp>

namespace lockstep {

class ShuffledSampler {
public:
    /// The same seed on every rank.
    explicit constexpr ShuffledSampler(std::uint64_t seed) noexcept : seed_(seed) {}

    constexpr void fill(std::span<std::size_t> order, std::uint64_t epoch) const noexcept {
        std::iota(order.begin(), order.end(), std::size_t{0});
        shuffle(order, Random(seed_, epoch));
    }

private:
    std::uint64_t seed_;
};

}  // namespace lockstep
