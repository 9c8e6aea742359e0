// SPDX-License-Identifier: MIT
/// @file
/// Maps over spans: activations with their derivatives, scaling and adding.
///
/// Every kernel writes into the caller's memory. The spans of one call have the same length (unchecked) and
/// are either the same memory or do not overlap. Cost: one pass over each span.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include <lockstep/core/config.hpp>

namespace lockstep::kernels {

namespace detail {

/// Input values; the scalar type is deduced from what the kernel writes.
template <class Scalar>
using Input = std::span<const std::type_identity_t<Scalar>>;

template <class Scalar, std::size_t Width>
struct LanesType {
    using type [[gnu::vector_size(Width * sizeof(Scalar))]] = Scalar;
};
template <class Scalar>
struct LanesType<Scalar, 1> {
    using type = Scalar;
};

/// `Width` neighbouring elements from index `first` on: the position of a loop over several arrays.
template <class Scalar, std::size_t Width>
struct Lanes {
    using value_type = typename LanesType<Scalar, Width>::type;

    std::size_t first;

    value_type load(const Scalar* from) const noexcept {
        value_type values;
        std::memcpy(&values, from + first, sizeof values);
        return values;
    }
    void store(Scalar* into, const value_type& values) const noexcept {
        std::memcpy(into + first, &values, sizeof values);
    }
    /// Element by element. std::sqrt may set errno, which keeps compilers from using the instruction for several.
    static value_type square_root(const value_type& values) noexcept {
        if constexpr (Width == 1) {
            return std::sqrt(values);
        } else {
#if defined(__SSE2__) && __has_builtin(__builtin_ia32_sqrtps) && __has_builtin(__builtin_ia32_sqrtpd)
            if constexpr (std::same_as<Scalar, float>) return __builtin_ia32_sqrtps(values);
            else return __builtin_ia32_sqrtpd(values);
#else
            value_type roots;
            for (std::size_t lane = 0; lane < Width; ++lane) roots[lane] = std::sqrt(values[lane]);
            return roots;
#endif
        }
    }
};

/// Calls `body(lanes)` for all of `count` elements: 16 bytes at a time, which every processor can do at once,
/// then one by one, both by the same expression. -O2 alone does not vectorise a loop of unknown length.
template <class Scalar, class Body>
void for_lanes(std::size_t count, Body body) {
    constexpr std::size_t width = 16 / sizeof(Scalar);
    const std::size_t whole = count - count % width;
    for (std::size_t first = 0; first < whole; first += width) body(Lanes<Scalar, width>{first});
    for (std::size_t first = whole; first < count; ++first) body(Lanes<Scalar, 1>{first});
}

}  // namespace detail

/// `values *= factor`
template <class Scalar>
void scale(std::type_identity_t<Scalar> factor, std::span<Scalar> values) noexcept {
    detail::for_lanes<Scalar>(values.size(),
                              [&](auto lanes) { lanes.store(values.data(), lanes.load(values.data()) * factor); });
}

/// `into += values`
template <class Scalar>
void add(detail::Input<Scalar> values, std::span<Scalar> into) noexcept {
    detail::for_lanes<Scalar>(into.size(), [&](auto lanes) {
        lanes.store(into.data(), lanes.load(into.data()) + lanes.load(values.data()));
    });
}

/// `into += factor * values`
template <class Scalar>
void add_scaled(std::type_identity_t<Scalar> factor, detail::Input<Scalar> values, std::span<Scalar> into) noexcept {
    detail::for_lanes<Scalar>(into.size(), [&](auto lanes) {
        lanes.store(into.data(), lanes.load(into.data()) + lanes.load(values.data()) * factor);
    });
}

/// `output = max(input, 0)`; NaN stays NaN.
template <class Scalar>
void relu(detail::Input<Scalar> input, std::span<Scalar> output) noexcept {
    detail::for_lanes<Scalar>(output.size(), [&](auto lanes) {
        const auto value = lanes.load(input.data());
        const typename decltype(lanes)::value_type zero{};
        lanes.store(output.data(), value < zero ? zero : value);
    });
}

/// `input_gradient = output_gradient` where the output is above 0 (or NaN), 0 elsewhere
template <class Scalar>
void relu_backward(detail::Input<Scalar> output, detail::Input<Scalar> output_gradient,
                   std::span<Scalar> input_gradient) noexcept {
    detail::for_lanes<Scalar>(input_gradient.size(), [&](auto lanes) {
        const auto gradient = lanes.load(output_gradient.data());
        const typename decltype(lanes)::value_type zero{};
        lanes.store(input_gradient.data(), lanes.load(output.data()) <= zero ? zero : gradient);
    });
}

/// `output = tanh(input)`
template <class Scalar>
void tanh(detail::Input<Scalar> input, std::span<Scalar> output) noexcept {
    for (std::size_t i = 0; i < output.size(); ++i) output[i] = std::tanh(input[i]);
}

/// `input_gradient = output_gradient * (1 - output^2)`
template <class Scalar>
void tanh_backward(detail::Input<Scalar> output, detail::Input<Scalar> output_gradient,
                   std::span<Scalar> input_gradient) noexcept {
    detail::for_lanes<Scalar>(input_gradient.size(), [&](auto lanes) {
        const auto value = lanes.load(output.data());
        lanes.store(input_gradient.data(), lanes.load(output_gradient.data()) * (Scalar{1} - value * value));
    });
}

/// `output = input` where that is above 0 (or NaN), `slope * input` elsewhere
template <class Scalar>
void leaky_relu(std::type_identity_t<Scalar> slope, detail::Input<Scalar> input, std::span<Scalar> output) noexcept {
    detail::for_lanes<Scalar>(output.size(), [&](auto lanes) {
        const auto value = lanes.load(input.data());
        const typename decltype(lanes)::value_type zero{};
        lanes.store(output.data(), value < zero ? value * slope : value);
    });
}

/// `input_gradient = output_gradient` where the output is above 0 (or NaN), `slope * output_gradient` elsewhere
template <class Scalar>
void leaky_relu_backward(std::type_identity_t<Scalar> slope, detail::Input<Scalar> output,
                         detail::Input<Scalar> output_gradient, std::span<Scalar> input_gradient) noexcept {
    detail::for_lanes<Scalar>(input_gradient.size(), [&](auto lanes) {
        const auto gradient = lanes.load(output_gradient.data());
        const typename decltype(lanes)::value_type zero{};
        lanes.store(input_gradient.data(), lanes.load(output.data()) <= zero ? gradient * slope : gradient);
    });
}

/// `output = input * (1 + erf(input / sqrt(2))) / 2`
template <class Scalar>
void gelu(detail::Input<Scalar> input, std::span<Scalar> output) noexcept {
    for (std::size_t i = 0; i < output.size(); ++i) {
        output[i] = input[i] * (Scalar{1} + std::erf(input[i] * static_cast<Scalar>(0.70710678118654752440))) / 2;
    }
}

/// `input_gradient = output_gradient * (normal distribution function + input * its density) (input)`
template <class Scalar>
void gelu_backward(detail::Input<Scalar> input, detail::Input<Scalar> output_gradient,
                   std::span<Scalar> input_gradient) noexcept {
    for (std::size_t i = 0; i < input_gradient.size(); ++i) {
        const Scalar below = (Scalar{1} + std::erf(input[i] * static_cast<Scalar>(0.70710678118654752440))) / 2;
        const Scalar density = std::exp(-input[i] * input[i] / 2) * static_cast<Scalar>(0.39894228040143267794);
        input_gradient[i] = output_gradient[i] * (below + input[i] * density);
    }
}

/// `output = 1 / (1 + exp(-input))`, without overflow for any finite input.
template <class Scalar>
void sigmoid(detail::Input<Scalar> input, std::span<Scalar> output) noexcept {
    for (std::size_t i = 0; i < output.size(); ++i) {
        // exp of a number that is not positive lies in [0, 1].
        const Scalar tail = std::exp(-std::abs(input[i]));
        output[i] = (input[i] < 0 ? tail : Scalar{1}) / (Scalar{1} + tail);
    }
}

/// `input_gradient = output_gradient * output * (1 - output)`
template <class Scalar>
void sigmoid_backward(detail::Input<Scalar> output, detail::Input<Scalar> output_gradient,
                      std::span<Scalar> input_gradient) noexcept {
    detail::for_lanes<Scalar>(input_gradient.size(), [&](auto lanes) {
        const auto value = lanes.load(output.data());
        lanes.store(input_gradient.data(), lanes.load(output_gradient.data()) * value * (Scalar{1} - value));
    });
}

}  // namespace lockstep::kernels
