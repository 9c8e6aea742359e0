// SPDX-License-Identifier: MIT
/// @file
/// Layers MaxPool2d and AvgPool2d: each window of an image becomes one pixel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <lockstep/core/config.hpp>
#include <lockstep/kernels/patches.hpp>
#include <lockstep/nn/image.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

namespace detail {

/// What both have in common. `Pool::pixel(window)` is the value of a window, and `Pool::spread(window, value, gradient,
/// into)` adds the gradient's shares to the pixels of the window at `into`. A window is its first pixel; rows are
/// `In::width` apart.
template <class Pool, class In, std::size_t Kernel, std::size_t Stride>
struct Pooling : NoParameters {
    static_assert(Kernel > 0 && Stride > 0 && In::height >= Kernel && In::width >= Kernel,
                  "the window of a pooling fits into its image");

    using output_image =
        Image<In::channels, kernels::windows(In::height, Kernel, Stride), kernels::windows(In::width, Kernel, Stride)>;

    static constexpr std::size_t input_size = In::size;
    static constexpr std::size_t output_size(std::size_t) noexcept { return output_image::size; }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) noexcept {
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const Scalar* const image = pass.input.row(row).data();
            Scalar* to = pass.output.row(row).data();
            for_windows([&](std::size_t first) { *to++ = Pool::pixel(image + first); });
        }
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) noexcept {
        if (!pass.wants_input_gradient()) return;
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const Scalar* const image = pass.input.row(row).data();
            const Scalar* value = pass.output.row(row).data();
            const Scalar* gradient = pass.output_gradient.row(row).data();
            const std::span<Scalar> input_gradient = pass.input_gradient.row(row);
            std::fill(input_gradient.begin(), input_gradient.end(), Scalar{});
            for_windows([&](std::size_t first) {
                Pool::spread(image + first, *value++, *gradient++, input_gradient.data() + first);
            });
        }
    }

private:
    /// Calls `visit(first pixel)` for the windows, in the order of the output's pixels.
    template <class Visit>
    static void for_windows(const Visit& visit) noexcept {
        for (std::size_t channel = 0; channel < In::channels; ++channel) {
            for (std::size_t y = 0; y < output_image::height; ++y) {
                for (std::size_t x = 0; x < output_image::width; ++x) {
                    visit(channel * In::pixels + y * Stride * In::width + x * Stride);
                }
            }
        }
    }
};

}  // namespace detail

/// The largest pixel of each window; NaN if there is one. The gradient goes to the first pixel that is the largest.
/// Pixels at the right and bottom that fill no window are left out.
template <class In, std::size_t Kernel, std::size_t Stride = Kernel>
struct MaxPool2d : detail::Pooling<MaxPool2d<In, Kernel, Stride>, In, Kernel, Stride> {
    template <class Scalar>
    static Scalar pixel(const Scalar* window) noexcept {
        Scalar largest = *window;
        for (std::size_t y = 0; y < Kernel; ++y) {
            for (std::size_t x = 0; x < Kernel; ++x) {
                const Scalar value = window[y * In::width + x];
                largest = value > largest || std::isnan(value) ? value : largest;
            }
        }
        return largest;
    }
    template <class Scalar>
    static void spread(const Scalar* window, Scalar largest, Scalar gradient, Scalar* into) noexcept {
        for (std::size_t y = 0; y < Kernel; ++y) {
            for (std::size_t x = 0; x < Kernel; ++x) {
                const Scalar value = window[y * In::width + x];
                if (!(value == largest) && !std::isnan(value)) continue;
                into[y * In::width + x] += gradient;
                return;
            }
        }
    }
};

/// The mean of each window. Pixels at the right and bottom that fill no window are left out.
template <class In, std::size_t Kernel, std::size_t Stride = Kernel>
struct AvgPool2d : detail::Pooling<AvgPool2d<In, Kernel, Stride>, In, Kernel, Stride> {
    template <class Scalar>
    static Scalar pixel(const Scalar* window) noexcept {
        Scalar sum = 0;
        for (std::size_t y = 0; y < Kernel; ++y) {
            for (std::size_t x = 0; x < Kernel; ++x) sum += window[y * In::width + x];
        }
        return sum / static_cast<Scalar>(Kernel * Kernel);
    }
    template <class Scalar>
    static void spread(const Scalar*, Scalar, Scalar gradient, Scalar* into) noexcept {
        const Scalar share = gradient / static_cast<Scalar>(Kernel * Kernel);
        for (std::size_t y = 0; y < Kernel; ++y) {
            for (std::size_t x = 0; x < Kernel; ++x) into[y * In::width + x] += share;
        }
    }
};

}  // namespace lockstep
