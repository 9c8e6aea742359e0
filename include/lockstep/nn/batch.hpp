// SPDX-License-Identifier: MIT
/// @file
/// Rows to learn from: inputs and, row for row, what the model should say.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

namespace detail {

// Targets are labels (a span), rows of numbers (a matrix), or a type with members rows() and slice(Shard).
template <class Value>
constexpr std::size_t rows_of(std::span<Value> labels) noexcept {
    return labels.size();
}
template <class Scalar>
constexpr std::size_t rows_of(const MatrixView<Scalar>& targets) noexcept {
    return targets.rows;
}
template <class Targets>
constexpr auto rows_of(const Targets& targets) -> decltype(targets.rows()) {
    return targets.rows();
}

template <class Value>
constexpr std::span<Value> slice_of(std::span<Value> labels, Shard range) noexcept {
    return labels.subspan(range.begin, range.size);
}
template <class Targets>
constexpr auto slice_of(const Targets& targets, Shard range) -> decltype(targets.slice(range)) {
    return targets.slice(range);
}

}  // namespace detail

/// A view of `inputs` (rows, input size) and `targets`, one for each row; the memory is somebody else's.
template <class Scalar, class Targets>
struct Batch {
    MatrixView<const Scalar> inputs{};
    Targets targets{};

    Batch() = default;
    /// @throws ShapeError if the two have not as many rows
    Batch(MatrixView<const Scalar> rows, Targets wanted) : inputs(rows), targets(std::move(wanted)) { check(); }

    std::size_t rows() const noexcept { return inputs.rows; }

    /// Rows `range` of both, without a copy. @throws ShapeError if the range leaves the batch
    Batch slice(Shard range) const {
        check();
        if (range.begin > rows() || range.size > rows() - range.begin) {
            throw ShapeError("rows " + std::to_string(range.begin) + " to " + std::to_string(range.end()) +
                             " of a batch of " + std::to_string(rows()) + " rows");
        }
        return {inputs.slice(range), detail::slice_of(targets, range)};
    }

    /// The constructor's check again: members are public. @throws ShapeError if the rows are not as many
    void check() const {
        const std::size_t wanted = detail::rows_of(targets);
        if (wanted != inputs.rows) {
            throw ShapeError("a batch of " + std::to_string(inputs.rows) + " input rows and " + std::to_string(wanted) +
                             " targets");
        }
    }
};

template <class Scalar, class Targets>
Batch(MatrixView<Scalar>, Targets) -> Batch<std::remove_const_t<Scalar>, Targets>;

}  // namespace lockstep
