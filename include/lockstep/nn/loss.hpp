// SPDX-License-Identifier: MIT
/// @file
/// What a loss is: a type without state that compares outputs with targets, in sums.
///
/// The loss of a batch is the *sum* of the losses of its rows, and its gradient the gradient of that sum:
/// sums of shards add up, means do not. Whoever wants the mean divides once, by the total weight.
///
/// | member                                         | meaning                                               |
/// |------------------------------------------------|-------------------------------------------------------|
/// | `targets_type<Scalar>`                         | a view of the targets: labels, or rows of numbers     |
/// | `evaluate(outputs, targets)`                   | the LossSum                                           |
/// | `backward(outputs, targets, output_gradient)`  | the same; writes the gradient (rows, output_size)     |
///
/// All are static. Both functions throw ShapeError for targets that do not fit, naming the row of this batch and the value
/// for one that means nothing, before they write. The weight of a row is 1 unless the loss says otherwise.
/// Models: CrossEntropy, CrossEntropyWith<...>, BinaryCrossEntropy, MeanSquaredError, Huber<...>, Weighted<...>.
#pragma once

#include <concepts>

#include <lockstep/core/config.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

template <class Candidate, class Scalar>
concept NamesTargets = requires {
    typename Candidate::template targets_type<Scalar>;
};
template <class Candidate, class Scalar>
concept EvaluatesLoss = requires(MatrixView<const Scalar> outputs,
                                 const typename Candidate::template targets_type<Scalar>& targets) {
    { Candidate::evaluate(outputs, targets) } -> std::same_as<LossSum>;
};
template <class Candidate, class Scalar>
concept DifferentiatesLoss = requires(MatrixView<const Scalar> outputs,
                                      const typename Candidate::template targets_type<Scalar>& targets,
                                      MatrixView<Scalar> output_gradient) {
    { Candidate::backward(outputs, targets, output_gradient) } -> std::same_as<LossSum>;
};

/// A loss over `Scalar`; the table above says what its members mean.
template <class Candidate, class Scalar = float>
concept Loss =
    NamesTargets<Candidate, Scalar> && EvaluatesLoss<Candidate, Scalar> && DifferentiatesLoss<Candidate, Scalar>;

}  // namespace lockstep
