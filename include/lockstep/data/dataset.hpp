// SPDX-License-Identifier: MIT
/// @file
/// What a Loader draws rows from, and the one that holds them all in memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/nn/batch.hpp>
#include <lockstep/tensor/tensor.hpp>

namespace lockstep {

/// Rows that can be had by index. `gather(rows, scratch)` puts these rows into `scratch` (default-constructed
/// at first, kept for the next call) and returns a batch that views it; it throws ShapeError if an index is
/// not below `size()`. Both may be called by several threads at once, each with a scratch of its own. Models:
/// LabelledDataset, RegressionDataset, your own rows that are read or decoded on demand.
template <class Data>
concept Dataset = std::default_initializable<typename Data::scratch_type> &&
    requires(const Data data, std::span<const std::size_t> rows, typename Data::scratch_type scratch) {
    { data.size() } -> std::same_as<std::size_t>;
    { data.gather(rows, scratch).rows() } -> std::convertible_to<std::size_t>;
};

namespace detail {

// What differs between one value a row (labels, say) and rows of numbers as targets. Owned targets of another kind bring
// these as members: view(), room(rows), row_size() and copy_rows(rows, to).
template <class Value>
std::span<const Value> view_of(const std::vector<Value>& values) noexcept {
    return values;
}
template <class Scalar>
MatrixView<const Scalar> view_of(const Tensor<Scalar>& numbers) noexcept {
    return numbers.matrix();
}
template <class Targets>
auto view_of(const Targets& targets) -> decltype(targets.view()) {
    return targets.view();
}

/// Room for `rows` rows of the same kind.
template <class Value>
std::vector<Value> room_like(const std::vector<Value>&, std::size_t rows) {
    return std::vector<Value>(rows);
}
template <class Scalar>
Tensor<Scalar> room_like(const Tensor<Scalar>& numbers, std::size_t rows) {
    return numbers.ndim() == 0 ? Tensor<Scalar>() : Tensor<Scalar>(numbers.shape().with_rows(rows));
}
template <class Targets>
auto room_like(const Targets& targets, std::size_t rows) -> decltype(targets.room(rows)) {
    return targets.room(rows);
}

/// Numbers a row.
template <class Value>
std::size_t row_size(const std::vector<Value>&) noexcept {
    return 1;
}
template <class Scalar>
std::size_t row_size(const Tensor<Scalar>& numbers) noexcept {
    return numbers.matrix().cols;
}
template <class Targets>
auto row_size(const Targets& targets) -> decltype(targets.row_size()) {
    return targets.row_size();
}

template <class Value>
void copy_rows(const std::vector<Value>& from, std::span<const std::size_t> rows, std::vector<Value>& to) noexcept {
    for (std::size_t index = 0; index < rows.size(); ++index) to[index] = from[rows[index]];
}
template <class Scalar>
void copy_rows(const Tensor<Scalar>& from, std::span<const std::size_t> rows, Tensor<Scalar>& to) noexcept {
    const MatrixView<const Scalar> source = from.matrix();
    const MatrixView<Scalar> target = to.matrix();
    for (std::size_t index = 0; index < rows.size(); ++index) {
        const std::span<const Scalar> row = source.row(rows[index]);
        std::copy(row.begin(), row.end(), target.row(index).begin());
    }
}
template <class Targets>
auto copy_rows(const Targets& from, std::span<const std::size_t> rows, Targets& to)
    -> decltype(from.copy_rows(rows, to)) {
    from.copy_rows(rows, to);
}

}  // namespace detail

/// Inputs (rows, features...) and a target for each row, owned and in memory.
/// `Targets` is `std::vector<std::int32_t>` (class labels), `Tensor<Scalar>` (rows, outputs), or either with weights
/// (data/weighted_rows.hpp).
template <class Scalar, class Targets>
class InMemoryDataset {
public:
    using batch_type = Batch<Scalar, decltype(detail::view_of(std::declval<const Targets&>()))>;
    using scratch_type = InMemoryDataset;

    InMemoryDataset() = default;
    /// @throws ShapeError if the two have not as many rows
    InMemoryDataset(Tensor<Scalar> inputs, Targets targets) : inputs_(std::move(inputs)), targets_(std::move(targets)) {
        batch().check();
    }

    std::size_t size() const noexcept { return inputs_.matrix().rows; }
    /// Numbers a row, all axes after the first together.
    std::size_t features() const noexcept { return inputs_.matrix().cols; }

    /// The inputs, to be scaled in place: (rows, features).
    MatrixView<Scalar> inputs() noexcept { return inputs_.matrix(); }

    /// All rows, without a copy; valid as long as the dataset.
    batch_type batch() const { return {inputs_.matrix(), detail::view_of(targets_)}; }

    /// A dataset of its own of these rows, in this order, repetitions included. @throws ShapeError
    InMemoryDataset subset(std::span<const std::size_t> rows) const {
        InMemoryDataset part;
        gather(rows, part);
        return part;
    }

    /// Copies these rows to the first rows of `scratch`, which grows if it must, and returns a view of them.
    /// @throws ShapeError naming the index if there is no such row
    batch_type gather(std::span<const std::size_t> rows, InMemoryDataset& scratch) const {
        for (const std::size_t row : rows) {
            if (row >= size()) {
                throw ShapeError("row " + std::to_string(row) + " of a dataset of " + std::to_string(size()) + " rows");
            }
        }
        if (scratch.size() < rows.size() || scratch.features() != features() ||
            detail::row_size(scratch.targets_) != detail::row_size(targets_)) {
            scratch = {detail::room_like(inputs_, rows.size()), detail::room_like(targets_, rows.size())};
        }
        detail::copy_rows(inputs_, rows, scratch.inputs_);
        detail::copy_rows(targets_, rows, scratch.targets_);
        return scratch.batch().slice({0, rows.size()});
    }

    /// Multiplies every input, as in `scale(1 / 16.0f)` for pixels of 0 to 16.
    void scale(Scalar factor) noexcept {
        for (Scalar& value : inputs_.values()) value *= factor;
    }

private:
    Tensor<Scalar> inputs_;
    Targets targets_;
};

/// Rows of one class each.
template <class Scalar>
using LabelledDataset = InMemoryDataset<Scalar, std::vector<std::int32_t>>;
/// Rows of numbers to predict.
template <class Scalar>
using RegressionDataset = InMemoryDataset<Scalar, Tensor<Scalar>>;

}  // namespace lockstep
