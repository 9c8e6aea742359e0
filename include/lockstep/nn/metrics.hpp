// SPDX-License-Identifier: MIT
/// @file
/// Counts that say how good a model is, in sums that add up over shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <lockstep/core/error.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/kernels/rows.hpp>

namespace lockstep {

/// In how many rows of `logits` (rows, classes) the largest, the first of equals, is at the label.
/// @throws ShapeError if there are not as many labels as rows
template <class Scalar>
std::size_t correct(MatrixView<Scalar> logits, std::span<const std::int32_t> labels) {
    if (labels.size() != logits.rows) {
        throw ShapeError("correct: " + std::to_string(labels.size()) + " labels for " + std::to_string(logits.rows) +
                         " rows");
    }
    std::size_t count = 0;
    if (logits.cols == 0) return count;
    for (std::size_t row = 0; row < logits.rows; ++row) {
        const std::size_t found = kernels::argmax<std::remove_const_t<Scalar>>(logits.row(row));
        count += found == static_cast<std::size_t>(labels[row]) ? 1U : 0U;
    }
    return count;
}

}  // namespace lockstep
