// SPDX-License-Identifier: MIT
/// @file
/// Tensor<Scalar, Storage>: a dense row-major array whose memory is where its storage policy says.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/storage/aligned.hpp>
#include <lockstep/storage/borrowed.hpp>

namespace lockstep {

/// The extents of a tensor, at most four, first axis outermost. `{}` is the shape of no elements at all.
class Shape {
public:
    static constexpr std::size_t max_ndim = 4;

    constexpr Shape() noexcept = default;
    /// @throws ShapeError for more than four axes, or more elements than can be addressed
    constexpr Shape(std::initializer_list<std::size_t> extents) : ndim_(extents.size()) {
        if (ndim_ > max_ndim) throw ShapeError("a tensor has at most 4 axes, not " + std::to_string(ndim_));
        std::size_t axis = 0;
        for (const std::size_t extent : extents) extents_[axis++] = extent;
        std::size_t product = 1;
        for (const std::size_t extent : extents) {
            // Counting zeros last keeps {huge, huge, 0} from passing for a small tensor.
            if (extent != 0 && product > (static_cast<std::size_t>(-1) / 2) / extent) {
                throw ShapeError("the shape " + text() + " has more elements than can be addressed");
            }
            if (extent != 0) product *= extent;
        }
    }

    constexpr std::size_t ndim() const noexcept { return ndim_; }
    /// @throws ShapeError if there is no such axis
    constexpr std::size_t extent(std::size_t axis) const {
        if (axis >= ndim_) throw ShapeError("axis " + std::to_string(axis) + " of the shape " + text());
        return extents_[axis];
    }
    constexpr std::size_t numel() const noexcept {
        std::size_t product = ndim_ == 0 ? 0 : 1;
        for (std::size_t axis = 0; axis < ndim_; ++axis) product *= extents_[axis];
        return product;
    }
    /// The same shape with another number of rows (first extent).
    constexpr Shape with_rows(std::size_t rows) const noexcept {
        Shape changed = *this;
        changed.extents_[0] = rows;
        return changed;
    }
    std::string text() const {
        std::string written = "(";
        for (std::size_t axis = 0; axis < ndim_; ++axis) {
            written += (axis == 0 ? "" : ", ") + std::to_string(extents_[axis]);
        }
        return written + ")";
    }
    friend constexpr bool operator==(const Shape&, const Shape&) = default;

private:
    std::array<std::size_t, max_ndim> extents_{};
    std::size_t ndim_ = 0;
};

/// A dense row-major tensor. Copies are as deep as its storage policy: Aligned owns, Borrowed views.
template <class Scalar, class Storage = Aligned>
class Tensor {
public:
    using value_type = Scalar;
    using buffer_type = typename Storage::template buffer<Scalar>;

    Tensor() = default;

    /// A tensor of zeros. @throws ShapeError if the storage cannot hold it
    explicit Tensor(const Shape& shape) requires std::constructible_from<buffer_type, std::size_t>
        : shape_(shape), buffer_(shape.numel()) {}

    /// A tensor in memory that already exists. @throws ShapeError if the sizes differ
    Tensor(const Shape& shape, buffer_type buffer) : shape_(shape), buffer_(std::move(buffer)) {
        if (buffer_.size() != shape_.numel()) {
            throw ShapeError("a buffer of " + std::to_string(buffer_.size()) + " elements is no tensor of shape " +
                             shape_.text());
        }
    }

    const Shape& shape() const noexcept { return shape_; }
    std::size_t ndim() const noexcept { return shape_.ndim(); }
    std::size_t extent(std::size_t axis) const { return shape_.extent(axis); }
    std::size_t numel() const noexcept { return buffer_.size(); }

    Scalar* data() noexcept { return buffer_.data(); }
    auto data() const noexcept { return buffer_.data(); }
    std::span<Scalar> values() noexcept { return {buffer_.data(), buffer_.size()}; }
    auto values() const noexcept { return std::span{buffer_.data(), buffer_.size()}; }

    /// Element (i, j, ...), one index an axis; unchecked.
    template <std::integral... Index>
    Scalar& operator()(Index... index) noexcept {
        return data()[offset(index...)];
    }
    template <std::integral... Index>
    decltype(auto) operator()(Index... index) const noexcept {
        return data()[offset(index...)];
    }

    /// The tensor as a matrix: first axis by all the others together.
    MatrixView<Scalar> matrix() noexcept { return {data(), rows(), row_size()}; }
    auto matrix() const noexcept {
        return MatrixView<std::remove_pointer_t<decltype(data())>>{data(), rows(), row_size()};
    }

    /// Rows `range`, as a tensor that views this one. @throws ShapeError if the range leaves the tensor
    Tensor<Scalar, Borrowed> slice(Shard range) { return sliced<Scalar>(data(), range); }
    Tensor<const Scalar, Borrowed> slice(Shard range) const { return sliced<const Scalar>(data(), range); }

private:
    std::size_t rows() const noexcept { return ndim() == 0 ? 0 : shape_.extent(0); }
    std::size_t row_size() const noexcept { return ndim() == 0 ? 0 : shape_.with_rows(1).numel(); }

    template <class Viewed>
    Tensor<Viewed, Borrowed> sliced(Viewed* first, Shard range) const {
        if (range.begin > rows() || range.size > rows() - range.begin) {
            throw ShapeError("rows " + std::to_string(range.begin) + " to " + std::to_string(range.end()) +
                             " of a tensor of shape " + shape_.text());
        }
        const Shape shape = ndim() == 0 ? shape_ : shape_.with_rows(range.size);
        return {shape, Borrowed::buffer<Viewed>({first + range.begin * row_size(), shape.numel()})};
    }

    template <class... Index>
    std::size_t offset(Index... index) const noexcept {
        std::size_t position = 0;
        std::size_t axis = 0;
        ((position = position * shape_.extent(axis++) + static_cast<std::size_t>(index)), ...);
        return position;
    }

    Shape shape_;
    buffer_type buffer_;
};

}  // namespace lockstep
