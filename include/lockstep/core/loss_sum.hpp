// SPDX-License-Identifier: MIT
/// @file
/// A loss as a sum and its weight: the form in which losses of shards add up to the loss of the batch.
#pragma once

#include <lockstep/core/config.hpp>

namespace lockstep {

/// The sum of the per-row losses and the total weight (the number of rows, unless rows are weighted).
struct LossSum {
    double sum = 0;
    double weight = 0;
};

}  // namespace lockstep
