// SPDX-License-Identifier: MIT
/// @file
/// Layer Flatten: what PyTorch's programs have between an image and a Linear.
#pragma once

#include <algorithm>
#include <span>

#include <lockstep/nn/activations.hpp>

namespace lockstep {

/// The identity, row size unchanged: rows are flat already, channels first as in PyTorch, and layers that know images see
/// them so. It is there for programs and parameter names that come from PyTorch, where it takes a number in a Sequential;
/// it costs a copy of the rows each way, and leaving it out changes no value.
struct Flatten : detail::Pointwise<Flatten> {
    template <class Scalar>
    static void map(std::span<const Scalar> input, std::span<Scalar> output) noexcept {
        std::copy(input.begin(), input.end(), output.begin());
    }
    template <class Scalar>
    static void map_backward(std::span<const Scalar>, std::span<const Scalar> output_gradient,
                             std::span<Scalar> input_gradient) noexcept {
        std::copy(output_gradient.begin(), output_gradient.end(), input_gradient.begin());
    }
};

}  // namespace lockstep
