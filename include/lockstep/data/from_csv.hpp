// SPDX-License-Identifier: MIT
/// @file
/// Datasets from tables: which columns are inputs, which are targets.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/data/csv.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/tensor/tensor.hpp>

namespace lockstep {

/// Stands for the number of a table's last column.
inline constexpr std::size_t last_column = static_cast<std::size_t>(-1);

namespace detail {

/// The columns `picked` of the table, in this order.
template <class Scalar>
Tensor<Scalar> columns_of(const Csv<Scalar>& csv, std::span<const std::size_t> picked) {
    const auto from = csv.values.matrix();
    Tensor<Scalar> columns({from.rows, picked.size()});
    Scalar* to = columns.data();
    for (std::size_t row = 0; row < from.rows; ++row) {
        for (const std::size_t column : picked) *to++ = from(row, column);
    }
    return columns;
}

/// Checks target columns, puts numbers in place of `last_column`, and returns the columns that are left for
/// inputs.
template <class Scalar>
std::vector<std::size_t> other_columns(const Csv<Scalar>& csv, std::span<std::size_t> targets) {
    const std::size_t width = csv.values.matrix().cols;
    std::vector<char> is_target(width);
    for (std::size_t& column : targets) {
        if (column == last_column && width > 0) column = width - 1;
        if (column >= width) {
            throw ShapeError(csv.name + ": column " + std::to_string(column + 1) + " of a table of " +
                             std::to_string(width) + " columns");
        }
        if (is_target[column]) throw ShapeError(csv.name + ": target column " + std::to_string(column + 1) + " twice");
        is_target[column] = 1;
    }
    std::vector<std::size_t> others;
    for (std::size_t column = 0; column < width; ++column) {
        if (!is_target[column]) others.push_back(column);
    }
    if (others.empty()) throw ShapeError(csv.name + ": no column is left for the inputs");
    return others;
}

template <class Scalar>
std::int32_t label_of(const Csv<Scalar>& csv, std::size_t row, std::size_t column) {
    // Above 2^digits a floating-point number may stand for several whole ones.
    constexpr int digits = (std::min)(std::numeric_limits<Scalar>::digits, 31);
    constexpr std::int64_t end = std::int64_t{1} << digits;
    const Scalar value = csv.values(row, column);
    // Written so that NaN is refused, and before the conversion that it would make undefined.
    if (value >= 0 && value < static_cast<Scalar>(end)) {
        const auto label = static_cast<std::int32_t>(value);
        if (static_cast<Scalar>(label) == value) return label;
    }
    std::array<char, 64> text{};
    const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
    throw FormatError(csv.place(csv.line_of(row), column) + ": the label " + std::string(text.data(), written.ptr) +
                      " is not a whole number from 0 to " + std::to_string(end - 1));
}

}  // namespace detail

/// One column holds class labels 0, 1, 2, ..., all others are inputs. Columns count from 0;
/// `csv.column(name)` finds one by its name.
/// @throws FormatError naming line and value if a label is no whole number of at least 0 that both the table
/// and
///         std::int32_t hold exactly, ShapeError if there is no such column, or no other
template <std::floating_point Scalar>
LabelledDataset<Scalar> labelled_from_csv(const Csv<Scalar>& csv, std::size_t label_column = last_column) {
    const std::vector<std::size_t> inputs = detail::other_columns(csv, {&label_column, 1});
    const std::size_t rows = csv.values.matrix().rows;
    std::vector<std::int32_t> labels;
    labels.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) labels.push_back(detail::label_of(csv, row, label_column));
    return {detail::columns_of<Scalar>(csv, inputs), std::move(labels)};
}

/// The columns `target_columns` are to be predicted, in this order; all others are inputs. Columns count from
/// 0.
/// @throws ShapeError if there is no such column, one is named twice, or none is left
template <std::floating_point Scalar>
RegressionDataset<Scalar> regression_from_csv(const Csv<Scalar>& csv,
                                              std::vector<std::size_t> target_columns = {last_column}) {
    const std::vector<std::size_t> inputs = detail::other_columns<Scalar>(csv, target_columns);
    return {detail::columns_of<Scalar>(csv, inputs), detail::columns_of<Scalar>(csv, target_columns)};
}

}  // namespace lockstep
