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
#include <lockstep/nn/row_checks.hpp>

namespace lockstep {

/// In how many rows of `logits` (rows, classes) the largest, the first of equals, is at the label; rows labelled `ignored`
/// count nowhere. @throws ShapeError if there are not as many labels as rows
template <class Scalar>
std::size_t correct(MatrixView<Scalar> logits, std::span<const std::int32_t> labels, std::int32_t ignored = no_label) {
    if (labels.size() != logits.rows) {
        throw ShapeError("correct: " + std::to_string(labels.size()) + " labels for " + std::to_string(logits.rows) +
                         " rows");
    }
    std::size_t count = 0;
    if (logits.cols == 0) return count;
    for (std::size_t row = 0; row < logits.rows; ++row) {
        if (detail::is_ignored(labels[row], ignored)) continue;
        const std::size_t found = kernels::argmax<std::remove_const_t<Scalar>>(logits.row(row));
        count += found == static_cast<std::size_t>(labels[row]) ? 1U : 0U;
    }
    return count;
}

/// Counts each row of `logits` (rows, classes) in `counts` (label, answer): the answer is the first of the largest;
/// rows labelled `ignored` count nowhere.
/// @throws ShapeError if labels, logits and counts do not fit together, before anything is counted
template <class Scalar>
void add_confusion(MatrixView<Scalar> logits, std::span<const std::int32_t> labels, MatrixView<std::int64_t> counts,
                   std::int32_t ignored = no_label) {
    if (labels.size() != logits.rows || counts.rows != logits.cols || counts.cols != logits.cols) {
        throw ShapeError("add_confusion: " + std::to_string(labels.size()) + " labels and counts of " +
                         std::to_string(counts.rows) + " x " + std::to_string(counts.cols) + " classes for " +
                         std::to_string(logits.rows) + " rows of " + std::to_string(logits.cols));
    }
    detail::check_labels("add_confusion", labels, logits.cols, ignored);
    for (std::size_t row = 0; row < logits.rows; ++row) {
        if (detail::is_ignored(labels[row], ignored)) continue;
        const std::size_t answer = kernels::argmax<std::remove_const_t<Scalar>>(logits.row(row));
        ++counts(static_cast<std::size_t>(labels[row]), answer);
    }
}

}  // namespace lockstep
