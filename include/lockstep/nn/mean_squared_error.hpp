// SPDX-License-Identifier: MIT
/// @file
/// Loss MeanSquaredError: for rows of numbers.
#pragma once

#include <cmath>

#include <lockstep/nn/elementwise_loss.hpp>

namespace lockstep {

/// The loss of a row is the mean over its columns of (output - target)^2, so that the mean over rows is what
/// PyTorch's MSELoss returns. Targets: (rows, output size), finite. Sums are taken in double, in row order.
struct MeanSquaredError : detail::ElementwiseLoss<MeanSquaredError> {
    static constexpr const char* name = "MeanSquaredError";
    static constexpr const char* accepted = "a finite number";
    static bool accepts(double target) noexcept { return std::isfinite(target); }

    static constexpr detail::ElementLoss of(double output, double target) noexcept {
        const double difference = output - target;
        return {difference * difference, 2 * difference};
    }
};

}  // namespace lockstep
