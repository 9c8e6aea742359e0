// SPDX-License-Identifier: MIT
/// @file
/// Loss CrossEntropy: for one label a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/kernels/rows.hpp>

namespace lockstep {

/// The loss of a row is -log(softmax(logits)[label]), as in PyTorch's CrossEntropyLoss: the network's last
/// layer is a Linear, without a softmax of its own. Finite for all finite logits. Targets: labels in [0,
/// classes), one a row.
struct CrossEntropy {
    template <class Scalar>
    using targets_type = std::span<const std::int32_t>;

    /// @throws ShapeError if there are not `rows` labels, or one lies outside [0, classes)
    static void check(std::span<const std::int32_t> labels, std::size_t rows, std::size_t classes) {
        if (labels.size() != rows) {
            throw ShapeError("CrossEntropy: " + std::to_string(labels.size()) + " labels for " + std::to_string(rows) +
                             " rows");
        }
        for (std::size_t row = 0; row < rows; ++row) {
            // As an unsigned number a negative label is larger than any.
            if (static_cast<std::size_t>(labels[row]) >= classes) {
                throw ShapeError("CrossEntropy: the label of row " + std::to_string(row) + " is " +
                                 std::to_string(labels[row]) + ", outside [0, " + std::to_string(classes) + ")");
            }
        }
    }

    /// `logits` (rows, classes), rows contiguous. @throws ShapeError as `check`
    template <class Scalar>
    static LossSum evaluate(MatrixView<Scalar> logits, std::span<const std::int32_t> labels) {
        using Value = std::remove_const_t<Scalar>;
        check(labels, logits.rows, logits.cols);
        double sum = 0;
        for (std::size_t row = 0; row < logits.rows; ++row) {
            const auto label = static_cast<std::size_t>(labels[row]);
            sum += kernels::log_sum_exp<Value>(logits.row(row)) - static_cast<double>(logits(row, label));
        }
        return {sum, static_cast<double>(logits.rows)};
    }

    /// The gradient of a row is softmax(logits) less one at the label. @throws ShapeError as `check`, before
    /// anything is written
    template <class Scalar>
    static LossSum backward(MatrixView<const std::type_identity_t<Scalar>> logits, std::span<const std::int32_t> labels,
                            MatrixView<Scalar> output_gradient) {
        check(labels, logits.rows, logits.cols);
        double sum = 0;
        for (std::size_t row = 0; row < logits.rows; ++row) {
            const auto label = static_cast<std::size_t>(labels[row]);
            sum +=
                kernels::softmax(logits.row(row), output_gradient.row(row)) - static_cast<double>(logits(row, label));
            output_gradient(row, label) -= Scalar{1};
        }
        return {sum, static_cast<double>(logits.rows)};
    }
};

}  // namespace lockstep
