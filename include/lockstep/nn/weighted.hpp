// SPDX-License-Identifier: MIT
/// @file
/// Loss Weighted<...>: another loss, of which some rows count more than others.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/batch.hpp>
#include <lockstep/nn/row_checks.hpp>

namespace lockstep {

/// A view of targets, and of one weight for each row; the memory is somebody else's. `Targets` is whatever targets of a
/// Batch can be: labels, rows of numbers, or a type with members rows() and slice(Shard).
template <class Targets, class Scalar>
class WeightedTargets {
public:
    WeightedTargets() = default;
    /// @throws ShapeError if there are not as many weights as targets
    WeightedTargets(Targets targets, std::span<const Scalar> weights)
        : targets_(std::move(targets)), weights_(weights) {
        const std::size_t wanted = detail::rows_of(targets_);
        if (weights_.size() != wanted) {
            throw ShapeError(std::to_string(weights_.size()) + " weights for " + std::to_string(wanted) + " targets");
        }
    }

    const Targets& targets() const noexcept { return targets_; }
    std::span<const Scalar> weights() const noexcept { return weights_; }

    std::size_t rows() const noexcept { return weights_.size(); }
    /// Rows `range`, which must lie inside, of both.
    WeightedTargets slice(Shard range) const {
        return {detail::slice_of(targets_, range), weights_.subspan(range.begin, range.size)};
    }

private:
    Targets targets_{};
    std::span<const Scalar> weights_{};
};

/// `check(targets, rows, output_size)`: throws if the loss could not take these targets; the built-in losses have it.
template <class Criterion, class Scalar>
concept ChecksTargets = requires(const typename Criterion::template targets_type<Scalar>& targets, std::size_t size) {
    Criterion::check(targets, size, size);
};

/// The loss of a row is that of `Criterion` times the row's weight, and its weight is the product too: the mean is
/// sum(w l) / sum(w) over the rows of *all* ranks, whatever the shards. In PyTorch that is `reduction='none'`, times the
/// weights, over their sum; an ignored label takes its row's weight out of that sum.
///
/// Targets: WeightedTargets of those of `Criterion`. Weights are finite and not negative. The gradient of a row of weight 0
/// is 0, even where its loss would not be finite; but its target is checked like any other.
///
///     using Net = Network<Linear<4, 3>, Weighted<CrossEntropy>>;
///     net.backward({inputs, {labels, weights}});
template <class Criterion>
struct Weighted {
    template <class Scalar>
    using targets_type = WeightedTargets<typename Criterion::template targets_type<Scalar>, Scalar>;

    /// @throws ShapeError as `Criterion::check`, or for a weight that is negative or not finite: names row and weight
    template <class Scalar, class Targets>
    static void check(const WeightedTargets<Targets, Scalar>& targets, std::size_t rows, std::size_t output_size) {
        static_assert(ChecksTargets<Criterion, Scalar>,
                      "a loss that is to be Weighted needs a member check(targets, rows, output_size)");
        Criterion::check(targets.targets(), rows, output_size);
        for (std::size_t row = 0; row < rows; ++row) {
            const Scalar weight = targets.weights()[row];
            if (std::isfinite(weight) && weight >= 0) continue;
            throw ShapeError("Weighted: the weight of row " + std::to_string(row) + " is " + detail::text_of(weight) +
                             ", not a finite number of at least 0");
        }
    }

    /// @throws ShapeError as `check`
    template <class Scalar>
    static LossSum evaluate(MatrixView<Scalar> outputs, const targets_type<std::remove_const_t<Scalar>>& targets) {
        return each_row(outputs, targets, [&](Shard row, auto weight) -> LossSum {
            if (weight == 0) return {};
            return Criterion::evaluate(outputs.slice(row), detail::slice_of(targets.targets(), row));
        });
    }

    /// @throws ShapeError as `check`, before anything is written
    template <class Scalar>
    static LossSum backward(MatrixView<const std::type_identity_t<Scalar>> outputs,
                            const targets_type<std::type_identity_t<Scalar>>& targets,
                            MatrixView<Scalar> output_gradient) {
        return each_row(outputs, targets, [&](Shard row, Scalar weight) -> LossSum {
            const std::span<Scalar> gradient = output_gradient.row(row.begin);
            if (weight == 0) {
                std::fill(gradient.begin(), gradient.end(), Scalar{0});
                return {};
            }
            const LossSum loss = Criterion::backward(outputs.slice(row), detail::slice_of(targets.targets(), row),
                                                     output_gradient.slice(row));
            kernels::scale(weight, gradient);
            return loss;
        });
    }

private:
    template <class Scalar, class Targets, class LossOfRow>
    static LossSum each_row(MatrixView<Scalar> outputs, const Targets& targets, LossOfRow loss_of_row) {
        check(targets, outputs.rows, outputs.cols);
        LossSum sum;
        for (std::size_t row = 0; row < outputs.rows; ++row) {
            const auto weight = targets.weights()[row];
            const LossSum loss = loss_of_row(Shard{row, 1}, weight);
            sum.sum += static_cast<double>(weight) * loss.sum;
            sum.weight += static_cast<double>(weight) * loss.weight;
        }
        return sum;
    }
};

}  // namespace lockstep
