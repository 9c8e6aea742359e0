// SPDX-License-Identifier: MIT
/// @file
/// WeightedDataset: rows of which some count more than others, for the loss Weighted<...>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/data/dataset.hpp>
#include <lockstep/nn/weighted.hpp>

namespace lockstep {

/// Targets with a weight for each row, owned. `Targets` is what an InMemoryDataset can hold.
template <class Scalar, class Targets>
struct TargetsAndWeights {
    Targets targets{};
    std::vector<Scalar> weights{};

    /// @throws ShapeError if there are not as many weights as targets
    auto view() const { return WeightedTargets(detail::view_of(targets), detail::view_of(weights)); }
    TargetsAndWeights room(std::size_t rows) const {
        return {detail::room_like(targets, rows), detail::room_like(weights, rows)};
    }
    std::size_t row_size() const noexcept { return detail::row_size(targets); }
    void copy_rows(std::span<const std::size_t> rows, TargetsAndWeights& to) const noexcept {
        detail::copy_rows(targets, rows, to.targets);
        detail::copy_rows(weights, rows, to.weights);
    }
};

/// Rows with weights, of one class each unless `Targets` says otherwise:
///
///     WeightedDataset<float> dataset(inputs, {labels, weights});
template <class Scalar, class Targets = std::vector<std::int32_t>>
using WeightedDataset = InMemoryDataset<Scalar, TargetsAndWeights<Scalar, Targets>>;

}  // namespace lockstep
