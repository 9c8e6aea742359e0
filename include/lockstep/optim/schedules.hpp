// SPDX-License-Identifier: MIT
/// @file
/// Learning rates over time, as functions of the step (or epoch) from 0: `optimizer.set_learning_rate(schedule(step))`.
/// Pure functions: nothing to save or to synchronize. The curves of PyTorch's StepLR, CosineAnnealingLR (up to its minimum) and
/// LinearLR.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// `rate`, times `factor` after every `every` steps.
struct StepDecay {
    double rate = 0.1;
    std::int64_t every = 1;
    double factor = 0.1;

    double operator()(std::int64_t step) const noexcept {
        return rate * std::pow(factor, static_cast<double>(step / (std::max<std::int64_t>)(every, 1)));
    }
};

/// Half a cosine from `rate` down to `least` in `steps` steps, and `least` from then on.
struct CosineDecay {
    double rate = 0.1;
    std::int64_t steps = 1;
    double least = 0;

    double operator()(std::int64_t step) const noexcept {
        const double done = step >= steps ? 1 : static_cast<double>(step) / static_cast<double>(steps);
        return least + (rate - least) * (1 + std::cos(3.141592653589793 * done)) / 2;
    }
};

/// Another schedule, times a factor that rises from `first` to 1 in `steps` steps.
template <class Schedule>
struct WarmUp {
    Schedule then{};
    std::int64_t steps = 0;
    double first = 0;

    double operator()(std::int64_t step) const noexcept {
        const double done = step >= steps ? 1 : static_cast<double>(step) / static_cast<double>(steps);
        return then(step) * (first + (1 - first) * done);
    }
};
template <class Schedule>
WarmUp(Schedule, std::int64_t, double) -> WarmUp<Schedule>;

}  // namespace lockstep
