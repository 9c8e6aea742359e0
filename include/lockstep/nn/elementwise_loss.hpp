// SPDX-License-Identifier: MIT
/// @file
/// What losses have in common that compare number with number: MeanSquaredError, Huber, BinaryCrossEntropy.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/row_checks.hpp>

namespace lockstep::detail {

/// The loss of one number, and its derivative by the output.
struct ElementLoss {
    double loss = 0;
    double derivative = 0;
};

/// The loss of a row is the mean over its columns, and a row weighs 1: then the mean over the rows of all shards is
/// PyTorch's mean over all numbers. `Criterion::name` is what errors call it, `Criterion::of(output, target)` returns an
/// ElementLoss, `Criterion::accepts(target)` says which targets mean something, and `Criterion::accepted` what those are.
/// Sums are taken in double, in row order.
template <class Criterion>
struct ElementwiseLoss {
    template <class Scalar>
    using targets_type = MatrixView<const Scalar>;

    /// @throws ShapeError if the targets are not (rows, output_size), or one means nothing: names row, column and target
    template <class Scalar>
    static void check(MatrixView<Scalar> targets, std::size_t rows, std::size_t output_size) {
        if (targets.rows != rows || targets.cols != output_size) {
            throw ShapeError(std::string(Criterion::name) + ": targets of shape (" + std::to_string(targets.rows) +
                             ", " + std::to_string(targets.cols) + ") for outputs of shape (" + std::to_string(rows) +
                             ", " + std::to_string(output_size) + ")");
        }
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t col = 0; col < output_size; ++col) {
                if (Criterion::accepts(static_cast<double>(targets(row, col)))) continue;
                throw ShapeError(std::string(Criterion::name) + ": the target of row " + std::to_string(row) +
                                 ", column " + std::to_string(col) + " is " + text_of(targets(row, col)) + ", not " +
                                 Criterion::accepted);
            }
        }
    }

    /// @throws ShapeError as `check`
    template <class Scalar>
    static LossSum evaluate(MatrixView<Scalar> outputs, MatrixView<const std::remove_const_t<Scalar>> targets) {
        return visit(outputs, targets, [](std::size_t, std::size_t, double) {});
    }

    /// @throws ShapeError as `check`, before anything is written
    template <class Scalar>
    static LossSum backward(MatrixView<const std::type_identity_t<Scalar>> outputs,
                            MatrixView<const std::type_identity_t<Scalar>> targets,
                            MatrixView<Scalar> output_gradient) {
        const double share = 1 / static_cast<double>(outputs.cols);
        return visit(outputs, targets, [&](std::size_t row, std::size_t col, double derivative) {
            output_gradient(row, col) = static_cast<Scalar>(share * derivative);
        });
    }

private:
    template <class Scalar, class Visit>
    static LossSum visit(MatrixView<Scalar> outputs, MatrixView<const std::remove_const_t<Scalar>> targets,
                         Visit write) {
        check(targets, outputs.rows, outputs.cols);
        double sum = 0;
        for (std::size_t row = 0; row < outputs.rows; ++row) {
            for (std::size_t col = 0; col < outputs.cols; ++col) {
                const ElementLoss element =
                    Criterion::of(static_cast<double>(outputs(row, col)), static_cast<double>(targets(row, col)));
                sum += element.loss;
                write(row, col, element.derivative);
            }
        }
        if (outputs.rows == 0) return {};
        return {sum / static_cast<double>(outputs.cols), static_cast<double>(outputs.rows)};
    }
};

}  // namespace lockstep::detail
