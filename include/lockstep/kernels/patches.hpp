// SPDX-License-Identifier: MIT
/// @file
/// Patches of an image as columns of a matrix, so that a convolution is a matrix product (im2col), and the way back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <lockstep/core/config.hpp>

namespace lockstep::kernels {

/// Where a convolution looks: sizes of an image (channels, height, width), a square kernel, stride and zero padding.
struct PatchShape {
    std::size_t channels = 0;
    std::size_t height = 0;
    std::size_t width = 0;
    std::size_t kernel = 0;
    std::size_t stride = 1;
    std::size_t padding = 0;

    constexpr std::size_t patch_rows() const noexcept { return (height + 2 * padding - kernel) / stride + 1; }
    constexpr std::size_t patch_cols() const noexcept { return (width + 2 * padding - kernel) / stride + 1; }
    constexpr std::size_t patch_size() const noexcept { return channels * kernel * kernel; }
};

namespace detail {

/// Calls `visit(matrix row, first column of it, inside, offset, x)` for every pixel (channel, y, x) of a patch and every row
/// of patches: these pixels lie in one row of the image, at `offset`, unless they are not inside but in the padding.
template <class Visit>
void for_patch_rows(const PatchShape& shape, const Visit& visit) {
    const std::size_t rows = shape.patch_rows();
    const std::size_t cols = shape.patch_cols();
    std::size_t matrix_row = 0;
    for (std::size_t channel = 0; channel < shape.channels; ++channel) {
        for (std::size_t y = 0; y < shape.kernel; ++y) {
            for (std::size_t x = 0; x < shape.kernel; ++x, ++matrix_row) {
                for (std::size_t row = 0; row < rows; ++row) {
                    const std::size_t padded = row * shape.stride + y;
                    const bool inside = padded >= shape.padding && padded - shape.padding < shape.height;
                    const std::size_t image_row = channel * shape.height + (inside ? padded - shape.padding : 0);
                    visit(matrix_row, row * cols, inside, image_row * shape.width, x);
                }
            }
        }
    }
}

/// The patches [first, last) of a row whose pixel `x` lies inside the image and not in its padding.
struct Inside {
    std::size_t first;
    std::size_t last;
};
constexpr Inside inside_of(const PatchShape& shape, std::size_t x) noexcept {
    const std::size_t cols = shape.patch_cols();
    const std::size_t first = x < shape.padding ? (shape.padding - x + shape.stride - 1) / shape.stride : 0;
    const std::size_t end = shape.width + shape.padding;
    const std::size_t last = x < end ? (end - x - 1) / shape.stride + 1 : 0;
    return {(std::min)(first, cols), (std::max)((std::min)(last, cols), (std::min)(first, cols))};
}

}  // namespace detail

/// `matrix` (patch_size, patch_rows * patch_cols) from `image` (channels, height, width). Cost: one write a value.
template <class Scalar>
void gather_patches(const PatchShape& shape, const Scalar* image, Scalar* matrix) noexcept {
    const std::size_t cols = shape.patch_cols();
    const std::size_t patches = shape.patch_rows() * cols;
    detail::for_patch_rows(
        shape, [&](std::size_t matrix_row, std::size_t patch, bool inside, std::size_t begin, std::size_t x) {
            Scalar* const to = matrix + matrix_row * patches + patch;
            const detail::Inside range = inside ? detail::inside_of(shape, x) : detail::Inside{cols, cols};
            std::fill(to, to + range.first, Scalar{});
            if (shape.stride == 1) {
                if (range.last > range.first) {
                    std::memcpy(to + range.first, image + begin + range.first + x - shape.padding,
                                (range.last - range.first) * sizeof(Scalar));
                }
            } else {
                for (std::size_t col = range.first; col < range.last; ++col) {
                    to[col] = image[begin + col * shape.stride + x - shape.padding];
                }
            }
            std::fill(to + range.last, to + cols, Scalar{});
        });
}

/// Adds every value of `matrix` to the pixel of `image` that it was gathered from.
template <class Scalar>
void scatter_patches(const PatchShape& shape, const Scalar* matrix, Scalar* image) noexcept {
    const std::size_t cols = shape.patch_cols();
    const std::size_t patches = shape.patch_rows() * cols;
    detail::for_patch_rows(
        shape, [&](std::size_t matrix_row, std::size_t patch, bool inside, std::size_t begin, std::size_t x) {
            if (!inside) return;
            const Scalar* const from = matrix + matrix_row * patches + patch;
            const detail::Inside range = detail::inside_of(shape, x);
            for (std::size_t col = range.first; col < range.last; ++col) {
                image[begin + col * shape.stride + x - shape.padding] += from[col];
            }
        });
}

}  // namespace lockstep::kernels
