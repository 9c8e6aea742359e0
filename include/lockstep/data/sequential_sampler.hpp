// SPDX-License-Identifier: MIT
/// @file
/// Sampler SequentialSampler: rows as they come.
/// Idea: row k is the k-th of every epoch.
/// Choose it when: evaluating, or the order of the rows means something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include <lockstep/data/sampler.hpp>

namespace lockstep {

struct SequentialSampler {
    constexpr void fill(std::span<std::size_t> order, std::uint64_t /*epoch*/) const noexcept {
        std::iota(order.begin(), order.end(), std::size_t{0});
    }
};

}  // namespace lockstep
