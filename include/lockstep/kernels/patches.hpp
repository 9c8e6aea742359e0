// SPDX-License-Identifier: MIT
/// @file
/// Patches of an image as columns of a matrix, so that a convolution is a matrix product (im2col), and the way back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <lockstep/core/config.hpp>

namespace lockstep::kernels {

/// How often a window of `kernel` fits into `size` with `padding` on both sides, in steps of `stride`.
constexpr std::size_t windows(std::size_t size, std::size_t kernel, std::size_t stride,
                              std::size_t padding = 0) noexcept {
    return (size + 2 * padding - kernel) / stride + 1;
}

/// Where a convolution looks: sizes of an image (channels, height, width), a square kernel, stride and zero padding.
struct PatchShape {
    std::size_t channels = 0;
    std::size_t height = 0;
    std::size_t width = 0;
    std::size_t kernel = 0;
    std::size_t stride = 1;
    std::size_t padding = 0;

    constexpr std::size_t patch_rows() const noexcept { return windows(height, kernel, stride, padding); }
    constexpr std::size_t patch_cols() const noexcept { return windows(width, kernel, stride, padding); }
    constexpr std::size_t patch_size() const noexcept { return channels * kernel * kernel; }
};

namespace detail {

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

/// Calls `visit(at, inside, pixel)` for every pixel (channel, y, x) of a patch and every row of patches: their values lie in
/// the matrix from `at` on. Those of the patches `inside` are pixels of one row of the image: that of patch `col` is number
/// `pixel + col * stride`.
template <class Visit>
void for_patch_rows(const PatchShape& shape, const Visit& visit) {
    const std::size_t cols = shape.patch_cols();
    std::size_t at = 0;
    for (std::size_t channel = 0; channel < shape.channels; ++channel) {
        for (std::size_t y = 0; y < shape.kernel; ++y) {
            for (std::size_t x = 0; x < shape.kernel; ++x) {
                const Inside inside_row = inside_of(shape, x);
                for (std::size_t row = 0; row < shape.patch_rows(); ++row, at += cols) {
                    const std::size_t padded = row * shape.stride + y;
                    const bool in_padding = padded < shape.padding || padded - shape.padding >= shape.height;
                    const std::size_t image_row = channel * shape.height + padded - shape.padding;
                    visit(at, in_padding ? Inside{cols, cols} : inside_row,
                          image_row * shape.width + x - shape.padding);
                }
            }
        }
    }
}

}  // namespace detail

/// `matrix` (patch_size, patch_rows * patch_cols) from `image` (channels, height, width). Cost: one write a value.
template <class Scalar>
void gather_patches(const PatchShape& shape, const Scalar* image, Scalar* matrix) noexcept {
    const std::size_t cols = shape.patch_cols();
    detail::for_patch_rows(shape, [&](std::size_t at, const detail::Inside& inside, std::size_t pixel) {
        Scalar* const to = matrix + at;
        std::fill(to, to + inside.first, Scalar{});
        if (shape.stride == 1 && inside.last > inside.first) {
            std::memcpy(to + inside.first, image + (pixel + inside.first),
                        (inside.last - inside.first) * sizeof(Scalar));
        } else {
            for (std::size_t col = inside.first; col < inside.last; ++col) to[col] = image[pixel + col * shape.stride];
        }
        std::fill(to + inside.last, to + cols, Scalar{});
    });
}

/// Adds every value of `matrix` to the pixel of `image` that it was gathered from.
template <class Scalar>
void scatter_patches(const PatchShape& shape, const Scalar* matrix, Scalar* image) noexcept {
    detail::for_patch_rows(shape, [&](std::size_t at, const detail::Inside& inside, std::size_t pixel) {
        const Scalar* const from = matrix + at;
        for (std::size_t col = inside.first; col < inside.last; ++col) image[pixel + col * shape.stride] += from[col];
    });
}

}  // namespace lockstep::kernels
