// SPDX-License-Identifier: MIT
/// @file
/// StandardScaling: columns with mean 0 and deviation 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

/// Learns mean and deviation of each column from the training rows, and scales these and any other rows by them: what is
/// learned from test rows would be known before the test.
///
///     const auto scaling = StandardScaling::of(train.inputs());
///     scaling.apply(train.inputs());
///     scaling.apply(test.inputs());
///
/// Deviations are those of the population (divided by rows). A constant column becomes 0, and has deviation 1.
class StandardScaling {
public:
    /// Sums are made in double, after Welford (1962), in one pass: no difference of two large squares.
    /// @throws ShapeError without rows, ConfigurationError naming row and column of a number that is not finite, or the
    ///         column of numbers so far apart (1e154) that their squares are not
    template <class Scalar>
    static StandardScaling of(MatrixView<Scalar> rows) {
        if (rows.rows == 0) throw ShapeError("scaling cannot be learned from no rows");
        StandardScaling learned;
        learned.means_.assign(rows.cols, 0);
        std::vector<double> squares(rows.cols, 0);
        for (std::size_t row = 0; row < rows.rows; ++row) {
            for (std::size_t column = 0; column < rows.cols; ++column) {
                const auto value = static_cast<double>(rows(row, column));
                if (!std::isfinite(value)) {
                    throw ConfigurationError("scaling cannot be learned: row " + std::to_string(row) + ", column " +
                                             std::to_string(column) + " is " + std::to_string(value));
                }
                const double before = value - learned.means_[column];
                learned.means_[column] += before / static_cast<double>(row + 1);
                squares[column] += before * (value - learned.means_[column]);
            }
        }
        for (const double sum : squares) {
            if (!std::isfinite(sum)) {
                throw ConfigurationError("scaling cannot be learned: column " +
                                         std::to_string(learned.deviations_.size()) +
                                         " has squares too large for a double");
            }
            const double deviation = std::sqrt(sum / static_cast<double>(rows.rows));
            learned.deviations_.push_back(deviation > 0 ? deviation : 1);
        }
        return learned;
    }

    const std::vector<double>& means() const noexcept { return means_; }
    const std::vector<double>& deviations() const noexcept { return deviations_; }

    /// @throws ShapeError if `rows` has another number of columns, before any is changed
    template <class Scalar>
    void apply(MatrixView<Scalar> rows) const {
        change(rows, [](double value, double mean, double deviation) { return (value - mean) / deviation; });
    }
    /// Back to the numbers before `apply`. @throws ShapeError likewise
    template <class Scalar>
    void undo(MatrixView<Scalar> rows) const {
        change(rows, [](double value, double mean, double deviation) { return value * deviation + mean; });
    }

private:
    template <class Scalar, class Change>
    void change(MatrixView<Scalar> rows, Change formula) const {
        if (rows.cols != means_.size()) {
            throw ShapeError("scaling was learned from " + std::to_string(means_.size()) + " columns, not " +
                             std::to_string(rows.cols));
        }
        for (std::size_t row = 0; row < rows.rows; ++row) {
            for (std::size_t column = 0; column < rows.cols; ++column) {
                Scalar& value = rows(row, column);
                value = static_cast<Scalar>(formula(static_cast<double>(value), means_[column], deviations_[column]));
            }
        }
    }

    std::vector<double> means_;
    std::vector<double> deviations_;
};

}  // namespace lockstep
