// SPDX-License-Identifier: MIT
/// @file
/// Kernels over the rows of a matrix: bias, column sums, softmax, argmax. Rows have `col_stride == 1`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

#include <lockstep/core/config.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep::kernels {

/// Adds `addend` (cols) to each row of `matrix` (rows, cols).
template <class Scalar>
void add_to_rows(detail::Input<Scalar> addend, MatrixView<Scalar> matrix) noexcept {
    for (std::size_t i = 0; i < matrix.rows; ++i) add(addend, matrix.row(i));
}

/// Adds the sum of the rows of `matrix` (rows, cols) to `sums` (cols), first row first.
template <class Scalar>
void add_column_sums(MatrixView<const std::type_identity_t<Scalar>> matrix, std::span<Scalar> sums) noexcept {
    for (std::size_t i = 0; i < matrix.rows; ++i) add(matrix.row(i), sums);
}

/// log(sum of exp(row)), in double; finite for all finite rows. The row is not empty.
template <class Scalar>
double log_sum_exp(std::span<const Scalar> row) noexcept {
    // Relative to the largest element no exponential overflows, and the sum is at least 1.
    const Scalar largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const Scalar value : row) sum += static_cast<double>(std::exp(value - largest));
    return static_cast<double>(largest) + std::log(sum);
}

/// Writes exp(row) / sum of exp(row) to `probabilities`; returns `log_sum_exp(row)`, to the last bit.
template <class Scalar>
double softmax(detail::Input<Scalar> row, std::span<Scalar> probabilities) noexcept {
    const Scalar largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        probabilities[i] = std::exp(row[i] - largest);
        sum += static_cast<double>(probabilities[i]);
    }
    scale(static_cast<Scalar>(1 / sum), probabilities);
    return static_cast<double>(largest) + std::log(sum);
}

/// Index of the largest element, the first of equals. The row is not empty.
template <class Scalar>
std::size_t argmax(std::span<const Scalar> row) noexcept {
    return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace lockstep::kernels
