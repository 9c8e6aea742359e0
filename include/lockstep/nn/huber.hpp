// SPDX-License-Identifier: MIT
/// @file
/// Loss Huber: for rows of numbers, some of which may be far off.
#pragma once

#include <cmath>
#include <ratio>

#include <lockstep/nn/elementwise_loss.hpp>

namespace lockstep {

/// The loss of a row is the mean over its columns of d^2 / 2 where d = |output - target| is at most delta, and of
/// delta (d - delta / 2) beyond (Huber, 1964), so that the mean over rows is what PyTorch's HuberLoss returns. `Delta` is a
/// std::ratio above 0. Targets: (rows, output size), finite. Sums are taken in double, in row order.
template <class Delta = std::ratio<1>>
struct Huber : detail::ElementwiseLoss<Huber<Delta>> {
    static_assert(Delta::num > 0, "the delta of a Huber is a std::ratio above 0");

    static constexpr const char* name = "Huber";
    static constexpr const char* accepted = "a finite number";
    static bool accepts(double target) noexcept { return std::isfinite(target); }

    static detail::ElementLoss of(double output, double target) noexcept {
        constexpr double delta = static_cast<double>(Delta::num) / static_cast<double>(Delta::den);
        const double difference = output - target;
        const double distance = std::abs(difference);
        // Asked so that a NaN goes on as a NaN.
        if (distance > delta) return {delta * (distance - delta / 2), std::copysign(delta, difference)};
        return {difference * difference / 2, difference};
    }
};

}  // namespace lockstep
