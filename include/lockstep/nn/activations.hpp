// SPDX-License-Identifier: MIT
/// @file
/// Layers without parameters that map each scalar by itself: Relu, LeakyRelu, Gelu, Tanh, Sigmoid.
#pragma once

#include <cstddef>
#include <span>

#include <lockstep/core/config.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

namespace detail {

/// Calls `map(spans...)` on the elements of matrices of one shape: all at once if no gap follows a row.
template <class Map, class First, class... Others>
void map_rows(Map map, MatrixView<First> first, MatrixView<Others>... others) {
    const auto dense = [](const auto& view) { return view.row_stride == view.cols; };
    if (dense(first) && (dense(others) && ...)) {
        return map(std::span(first.data, first.numel()), std::span(others.data, others.numel())...);
    }
    for (std::size_t i = 0; i < first.rows; ++i) map(first.row(i), others.row(i)...);
}

/// The members that all layers of this kind share. `Activation::map(input, output)` is the function, and
/// `Activation::map_backward(output, output_gradient, input_gradient)` its derivative, in terms of its value; or with the
/// input in place of the output, if there is a member `derivative_takes_input`.
template <class Activation>
struct Pointwise : NoParameters {
    static constexpr std::size_t input_size = any_size;
    static constexpr std::size_t output_size(std::size_t size) noexcept { return size; }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) noexcept {
        map_rows([](auto... spans) { Activation::map(spans...); }, pass.input, pass.output);
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) noexcept {
        if (!pass.wants_input_gradient()) return;
        if constexpr (requires { Activation::derivative_takes_input; }) {
            map_rows([](auto... spans) { Activation::map_backward(spans...); }, pass.input, pass.output_gradient,
                     pass.input_gradient);
        } else {
            map_rows([](auto... spans) { Activation::map_backward(spans...); }, pass.output, pass.output_gradient,
                     pass.input_gradient);
        }
    }
};

}  // namespace detail

/// max(x, 0), row size unchanged. The derivative at 0 is 0.
struct Relu : detail::Pointwise<Relu> {
    template <class Scalar>
    static void map(std::span<const Scalar> input, std::span<Scalar> output) noexcept {
        kernels::relu(input, output);
    }
    template <class Scalar>
    static void map_backward(std::span<const Scalar> output, std::span<const Scalar> output_gradient,
                             std::span<Scalar> input_gradient) noexcept {
        kernels::relu_backward(output, output_gradient, input_gradient);
    }
};

/// tanh(x), row size unchanged.
struct Tanh : detail::Pointwise<Tanh> {
    template <class Scalar>
    static void map(std::span<const Scalar> input, std::span<Scalar> output) noexcept {
        kernels::tanh(input, output);
    }
    template <class Scalar>
    static void map_backward(std::span<const Scalar> output, std::span<const Scalar> output_gradient,
                             std::span<Scalar> input_gradient) noexcept {
        kernels::tanh_backward(output, output_gradient, input_gradient);
    }
};

/// 1 / (1 + exp(-x)), row size unchanged.
struct Sigmoid : detail::Pointwise<Sigmoid> {
    template <class Scalar>
    static void map(std::span<const Scalar> input, std::span<Scalar> output) noexcept {
        kernels::sigmoid(input, output);
    }
    template <class Scalar>
    static void map_backward(std::span<const Scalar> output, std::span<const Scalar> output_gradient,
                             std::span<Scalar> input_gradient) noexcept {
        kernels::sigmoid_backward(output, output_gradient, input_gradient);
    }
};

/// x where that is above 0, x / 100 elsewhere, row size unchanged.
struct LeakyRelu : detail::Pointwise<LeakyRelu> {
    static constexpr double slope = 0.01;

    template <class Scalar>
    static void map(std::span<const Scalar> input, std::span<Scalar> output) noexcept {
        kernels::leaky_relu(static_cast<Scalar>(slope), input, output);
    }
    template <class Scalar>
    static void map_backward(std::span<const Scalar> output, std::span<const Scalar> output_gradient,
                             std::span<Scalar> input_gradient) noexcept {
        kernels::leaky_relu_backward(static_cast<Scalar>(slope), output, output_gradient, input_gradient);
    }
};

/// x times the share of the normal distribution below x (Hendrycks and Gimpel, 2016; not its approximation by tanh), row
/// size unchanged.
struct Gelu : detail::Pointwise<Gelu> {
    static constexpr bool derivative_takes_input = true;

    template <class Scalar>
    static void map(std::span<const Scalar> input, std::span<Scalar> output) noexcept {
        kernels::gelu(input, output);
    }
    template <class Scalar>
    static void map_backward(std::span<const Scalar> input, std::span<const Scalar> output_gradient,
                             std::span<Scalar> input_gradient) noexcept {
        kernels::gelu_backward(input, output_gradient, input_gradient);
    }
};

}  // namespace lockstep
