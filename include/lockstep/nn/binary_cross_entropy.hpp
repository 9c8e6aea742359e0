// SPDX-License-Identifier: MIT
/// @file
/// Loss BinaryCrossEntropy: for rows of yes-or-no answers.
#pragma once

#include <cmath>

#include <lockstep/nn/elementwise_loss.hpp>

namespace lockstep {

/// The loss of a row is the mean over its columns of -t log(p) - (1 - t) log(1 - p), where p = 1 / (1 + exp(-output)) and
/// t is the target, so that the mean over rows is what PyTorch's BCEWithLogitsLoss returns: the network's last layer is a
/// Linear, without a sigmoid of its own. Finite for all finite outputs. Targets: (rows, output size), in [0, 1]. Sums are
/// taken in double, in row order.
struct BinaryCrossEntropy : detail::ElementwiseLoss<BinaryCrossEntropy> {
    static constexpr const char* name = "BinaryCrossEntropy";
    static constexpr const char* accepted = "in [0, 1]";
    static constexpr bool accepts(double target) noexcept { return target >= 0 && target <= 1; }

    static detail::ElementLoss of(double output, double target) noexcept {
        // The exponential of a number below 0 cannot overflow; the likelier answer has the larger share of 1 + tail.
        const double tail = std::exp(-std::abs(output));
        const double likelier = 1 / (1 + tail);
        const double other = tail / (1 + tail);
        const double yes = output < 0 ? other : likelier;
        const double no = output < 0 ? likelier : other;
        const double positive = output < 0 ? 0 : output;
        // yes - target without its cancellation where the answer is right.
        return {positive - output * target + std::log1p(tail), (1 - target) * yes - target * no};
    }
};

}  // namespace lockstep
