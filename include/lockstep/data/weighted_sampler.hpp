// SPDX-License-Identifier: MIT
/// @file
/// Sampler WeightedSampler: rows drawn again and again, each as often as its weight says.
/// Idea: sums of weights, and a place drawn between 0 and their end.
/// Cost: one random number and log2(rows) comparisons a row and epoch; 8 bytes a row.
/// Choose it when: classes are rare, and each should be met as often as the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/data/sampler.hpp>

namespace lockstep {

/// With replacement: an epoch may have a row many times or never. The order is a function of (weights, seed, epoch).
class WeightedSampler {
public:
    /// One weight a row, not negative, in any unit; the same on every rank.
    /// @throws ConfigurationError naming the row of a weight that is negative or not finite, or if no row has any
    WeightedSampler(std::span<const double> weights, std::uint64_t seed) : seed_(seed) {
        sums_.reserve(weights.size());
        double sum = 0;
        for (const double weight : weights) {
            if (!(weight >= 0) || !std::isfinite(weight) || !std::isfinite(sum + weight)) {
                throw ConfigurationError("the weight of row " + std::to_string(sums_.size()) + " is " +
                                         std::to_string(weight) +
                                         ": weights and their sum must be finite, and at least 0");
            }
            if (weight > 0) last_ = sums_.size();
            sums_.push_back(sum += weight);
        }
        if (!weights.empty() && !(sum > 0)) throw ConfigurationError("all rows have weight 0: none can be drawn");
    }

    /// @throws ShapeError if there are not as many weights as rows
    void fill(std::span<std::size_t> order, std::uint64_t epoch) const {
        if (order.size() != sums_.size()) {
            throw ShapeError(std::to_string(sums_.size()) + " weights for " + std::to_string(order.size()) + " rows");
        }
        Random random(seed_, epoch);
        for (std::size_t& row : order) {
            // The first sum beyond the place: rows of weight 0 add nothing to the sum before them, and are passed over.
            const auto found = std::upper_bound(sums_.begin(), sums_.end(), random.uniform() * sums_.back());
            row = (std::min)(static_cast<std::size_t>(found - sums_.begin()), last_);
        }
    }

private:
    std::vector<double> sums_;  ///< of the weights up to and with each row
    std::size_t last_ = 0;      ///< the last row that has any weight: a product may be rounded up to the whole sum
    std::uint64_t seed_;
};

}  // namespace lockstep
