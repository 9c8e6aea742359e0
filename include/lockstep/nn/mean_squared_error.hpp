// SPDX-License-Identifier: MIT
/// @file
/// Loss MeanSquaredError: for rows of numbers.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

/// The loss of a row is the mean over its columns of (output - target)^2, so that the mean over rows is what
/// PyTorch's MSELoss returns. Targets: (rows, output size). Sums are taken in double, in row order.
struct MeanSquaredError {
    template <class Scalar>
    using targets_type = MatrixView<const Scalar>;

    /// @throws ShapeError if the targets are not (rows, output_size)
    template <class Scalar>
    static void check(MatrixView<Scalar> targets, std::size_t rows, std::size_t output_size) {
        if (targets.rows != rows || targets.cols != output_size) {
            throw ShapeError("MeanSquaredError: targets of shape (" + std::to_string(targets.rows) + ", " +
                             std::to_string(targets.cols) + ") for outputs of shape (" + std::to_string(rows) + ", " +
                             std::to_string(output_size) + ")");
        }
    }

    /// @throws ShapeError as `check`
    template <class Scalar>
    static LossSum evaluate(MatrixView<Scalar> outputs, MatrixView<const std::remove_const_t<Scalar>> targets) {
        return each_difference(outputs, targets, [](std::size_t, std::size_t, double) {});
    }

    /// @throws ShapeError as `check`, before anything is written
    template <class Scalar>
    static LossSum backward(MatrixView<const std::type_identity_t<Scalar>> outputs,
                            MatrixView<const std::type_identity_t<Scalar>> targets,
                            MatrixView<Scalar> output_gradient) {
        const double factor = 2 / static_cast<double>(outputs.cols);
        return each_difference(outputs, targets, [&](std::size_t row, std::size_t col, double difference) {
            output_gradient(row, col) = static_cast<Scalar>(factor * difference);
        });
    }

private:
    template <class Scalar, class Visit>
    static LossSum each_difference(MatrixView<Scalar> outputs, MatrixView<const std::remove_const_t<Scalar>> targets,
                                   Visit visit) {
        check(targets, outputs.rows, outputs.cols);
        double sum = 0;
        for (std::size_t row = 0; row < outputs.rows; ++row) {
            for (std::size_t col = 0; col < outputs.cols; ++col) {
                const double difference =
                    static_cast<double>(outputs(row, col)) - static_cast<double>(targets(row, col));
                sum += difference * difference;
                visit(row, col, difference);
            }
        }
        if (outputs.rows == 0) return {};
        return {sum / static_cast<double>(outputs.cols), static_cast<double>(outputs.rows)};
    }
};

}  // namespace lockstep
