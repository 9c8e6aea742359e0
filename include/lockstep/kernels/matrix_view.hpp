// SPDX-License-Identifier: MIT
/// @file
/// A matrix in memory that somebody else owns: pointer, two extents, two strides.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <lockstep/core/config.hpp>
#include <lockstep/core/shard.hpp>

namespace lockstep {

/// A view of `rows` x `cols` scalars; element (i, j) lies at `data[i * row_stride + j * col_stride]`.
///
/// Row-major matrices have `col_stride == 1`. Transposing swaps extents and strides and touches no memory, so a
/// kernel that takes views takes every transposed form.
template <class Scalar>
struct MatrixView {
    Scalar* data = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t row_stride = 0;
    std::size_t col_stride = 1;

    constexpr MatrixView() noexcept = default;
    /// A dense row-major matrix.
    constexpr MatrixView(Scalar* first, std::size_t row_count, std::size_t col_count) noexcept
        : data(first), rows(row_count), cols(col_count), row_stride(col_count) {}
    constexpr MatrixView(Scalar* first, std::size_t row_count, std::size_t col_count, std::size_t between_rows,
                         std::size_t between_cols) noexcept
        : data(first), rows(row_count), cols(col_count), row_stride(between_rows), col_stride(between_cols) {}

    /// Views of mutable scalars convert to views of constant ones.
    constexpr operator MatrixView<const Scalar>() const noexcept requires(!std::is_const_v<Scalar>) {
        return {data, rows, cols, row_stride, col_stride};
    }

    constexpr Scalar& operator()(std::size_t row, std::size_t col) const noexcept {
        return data[row * row_stride + col * col_stride];
    }
    constexpr std::size_t numel() const noexcept { return rows * cols; }
    constexpr MatrixView transposed() const noexcept { return {data, cols, rows, col_stride, row_stride}; }
    /// Rows `range.begin` to `range.end()`, as a view. The range must lie inside the matrix.
    constexpr MatrixView slice(Shard range) const noexcept {
        return {data + range.begin * row_stride, range.size, cols, row_stride, col_stride};
    }
    /// One row of a matrix with `col_stride == 1`.
    constexpr std::span<Scalar> row(std::size_t index) const noexcept { return {data + index * row_stride, cols}; }
};

}  // namespace lockstep
