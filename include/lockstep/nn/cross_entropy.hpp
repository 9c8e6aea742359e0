// SPDX-License-Identifier: MIT
/// @file
/// Loss CrossEntropy: for one label a row, with smoothed labels and labels to ignore if wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ratio>
#include <span>
#include <string>
#include <type_traits>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/kernels/rows.hpp>
#include <lockstep/nn/row_checks.hpp>

namespace lockstep {

/// The loss of a row is -log(softmax(logits)[label]), as in PyTorch's CrossEntropyLoss: the network's last
/// layer is a Linear, without a softmax of its own. Finite for all finite logits. Targets: labels in [0,
/// classes), one a row.
///
/// `Smoothing`, a std::ratio in [0, 1]: the share of each label that is spread evenly over all classes (Szegedy et al.,
/// 2016). `IgnoredLabel`: rows with this label, which need not be in [0, classes), have no loss, gradient 0 and weight 0,
/// so that the mean over any shards is that over the rows that are left; PyTorch ignores -100 unless told otherwise.
///
///     using Smoothed = CrossEntropyWith<std::ratio<1, 10>>;
///     using Masked = CrossEntropyWith<std::ratio<0>, -100>;
template <class Smoothing = std::ratio<0>, std::int32_t IgnoredLabel = no_label>
struct CrossEntropyWith {
    static_assert(Smoothing::num >= 0 && Smoothing::num <= Smoothing::den,
                  "the smoothing of a CrossEntropyWith is a std::ratio from 0 to 1");

    template <class Scalar>
    using targets_type = std::span<const std::int32_t>;

    /// @throws ShapeError if there are not `rows` labels, or one lies outside [0, classes) and is not to be ignored
    static void check(std::span<const std::int32_t> labels, std::size_t rows, std::size_t classes) {
        if (labels.size() != rows) {
            throw ShapeError("CrossEntropy: " + std::to_string(labels.size()) + " labels for " + std::to_string(rows) +
                             " rows");
        }
        detail::check_labels("CrossEntropy", labels, classes, IgnoredLabel);
    }

    /// `logits` (rows, classes), rows contiguous. @throws ShapeError as `check`
    template <class Scalar>
    static LossSum evaluate(MatrixView<Scalar> logits, std::span<const std::int32_t> labels) {
        using Value = std::remove_const_t<Scalar>;
        check(labels, logits.rows, logits.cols);
        LossSum loss;
        for (std::size_t row = 0; row < logits.rows; ++row) {
            if (detail::is_ignored(labels[row], IgnoredLabel)) continue;
            const std::span<const Value> values = logits.row(row);
            loss.sum += loss_of_row(kernels::log_sum_exp<Value>(values), values, labels[row]);
            loss.weight += 1;
        }
        return loss;
    }

    /// The gradient of a row is softmax(logits) less the smoothed label: without smoothing, less one at the label.
    /// @throws ShapeError as `check`, before anything is written
    template <class Scalar>
    static LossSum backward(MatrixView<const std::type_identity_t<Scalar>> logits, std::span<const std::int32_t> labels,
                            MatrixView<Scalar> output_gradient) {
        check(labels, logits.rows, logits.cols);
        LossSum loss;
        for (std::size_t row = 0; row < logits.rows; ++row) {
            const std::span<Scalar> gradient = output_gradient.row(row);
            if (detail::is_ignored(labels[row], IgnoredLabel)) {
                std::fill(gradient.begin(), gradient.end(), Scalar{0});
                continue;
            }
            loss.sum += loss_of_row(kernels::softmax(logits.row(row), gradient), logits.row(row), labels[row]);
            loss.weight += 1;
            if constexpr (smoothing > 0) {
                const auto share = static_cast<Scalar>(smoothing / static_cast<double>(logits.cols));
                for (Scalar& value : gradient) value -= share;
            }
            gradient[static_cast<std::size_t>(labels[row])] -= static_cast<Scalar>(1 - smoothing);
        }
        return loss;
    }

private:
    static constexpr double smoothing = static_cast<double>(Smoothing::num) / static_cast<double>(Smoothing::den);

    template <class Scalar>
    static double loss_of_row(double log_sum_exp, std::span<const Scalar> logits, std::int32_t label) noexcept {
        const double loss = log_sum_exp - static_cast<double>(logits[static_cast<std::size_t>(label)]);
        if constexpr (smoothing > 0) {
            double of_all = 0;
            for (const Scalar logit : logits) of_all += log_sum_exp - static_cast<double>(logit);
            return (1 - smoothing) * loss + smoothing * of_all / static_cast<double>(logits.size());
        }
        return loss;
    }
};

/// The loss of most classifiers: labels as they are, none ignored.
using CrossEntropy = CrossEntropyWith<>;

}  // namespace lockstep
