// SPDX-License-Identifier: MIT
/// @file
/// In which order an epoch visits the rows.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// `fill(order, epoch)` writes one row index, below `order.size()`, into each place of `order`.
///
/// The order depends on the sampler's values, on the number of rows and on the epoch, never on rank or world
/// size: every rank computes the same order, so a global batch has the same rows on every rank and for every
/// world size, and an epoch can be repeated or resumed by its number. Models: SequentialSampler,
/// ShuffledSampler, your own.
template <class Policy>
concept Sampler = std::movable<Policy> &&
    requires(const Policy policy, std::span<std::size_t> order, std::uint64_t epoch) {
    policy.fill(order, epoch);
};

}  // namespace lockstep
