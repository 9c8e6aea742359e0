// SPDX-License-Identifier: MIT
/// @file
/// What a step says of its loss.
#pragma once

#include <array>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// The loss of a step over all ranks: mean over the total weight, and the number of rows. No rows: no rank had any left.
struct MeanLoss {
    double mean = 0;
    double weight = 0;
    double rows = 0;

    /// Of the sums over all ranks of loss, weight and rows.
    static constexpr MeanLoss of(const std::array<double, 3>& sums) noexcept {
        return {sums[1] == 0 ? 0 : sums[0] / sums[1], sums[1], sums[2]};
    }
};

}  // namespace lockstep
