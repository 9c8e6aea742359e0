// SPDX-License-Identifier: MIT
/// @file
/// Layer LayerNorm: every row gets mean 0 and variance 1, then a scale and a shift of each feature.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <lockstep/core/config.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

/// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias, mean and variance over the row, as in PyTorch
/// (Ba, Kiros, Hinton, 2016). (rows, Size) to the same, with `weight` (Size), at first 1, and `bias` (Size), at first 0.
/// Means and variances are taken in double. Workspace: a scalar a row.
template <std::size_t Size>
struct LayerNorm {
    static_assert(Size > 0, "a LayerNorm has at least one feature");

    static constexpr double epsilon = 1e-5;
    static constexpr std::size_t input_size = Size;
    static constexpr std::size_t parameter_count = 2 * Size;
    static constexpr std::size_t output_size(std::size_t) noexcept { return Size; }
    static constexpr std::size_t workspace_size(std::size_t rows, std::size_t) noexcept { return rows; }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams&) noexcept {
        for (std::size_t index = 0; index < Size; ++index) {
            parameters[index] = Scalar{1};
            parameters[Size + index] = Scalar{0};
        }
    }
    static void describe(const std::string& prefix, Manifest& manifest) {
        manifest.push_back({prefix + "weight", {Size}});
        manifest.push_back({prefix + "bias", {Size}});
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) noexcept {
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const std::span<const Scalar> input = pass.input.row(row);
            const std::span<Scalar> output = pass.output.row(row);
            const double mean = mean_of(input);
            double squares = 0;
            for (const Scalar value : input) {
                const double distance = static_cast<double>(value) - mean;
                squares += distance * distance;
            }
            const double scale = 1 / std::sqrt(squares / Size + epsilon);
            pass.workspace[row] = static_cast<Scalar>(scale);
            for (std::size_t index = 0; index < Size; ++index) {
                const auto normal = static_cast<Scalar>((static_cast<double>(input[index]) - mean) * scale);
                output[index] = normal * pass.parameters[index] + pass.parameters[Size + index];
            }
        }
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) noexcept {
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const std::span<const Scalar> input = pass.input.row(row);
            const std::span<const Scalar> gradient = pass.output_gradient.row(row);
            const double mean = mean_of(input);
            const Scalar scale = pass.workspace[row];
            const auto normal_of = [&](std::size_t index) {
                return static_cast<Scalar>(static_cast<double>(input[index]) - mean) * scale;
            };
            double sum = 0;
            double projection = 0;
            for (std::size_t index = 0; index < Size; ++index) {
                const Scalar normal = normal_of(index);
                pass.parameter_gradients[index] += gradient[index] * normal;
                pass.parameter_gradients[Size + index] += gradient[index];
                const auto weighted = static_cast<double>(gradient[index] * pass.parameters[index]);
                sum += weighted;
                projection += weighted * static_cast<double>(normal);
            }
            if (!pass.wants_input_gradient()) continue;
            const std::span<Scalar> input_gradient = pass.input_gradient.row(row);
            const auto mean_gradient = static_cast<Scalar>(sum / Size);
            const auto mean_projection = static_cast<Scalar>(projection / Size);
            for (std::size_t index = 0; index < Size; ++index) {
                const Scalar normal = normal_of(index);
                const Scalar weighted = gradient[index] * pass.parameters[index];
                input_gradient[index] = (weighted - mean_gradient - normal * mean_projection) * scale;
            }
        }
    }

private:
    template <class Scalar>
    static double mean_of(std::span<const Scalar> values) noexcept {
        double sum = 0;
        for (const Scalar value : values) sum += static_cast<double>(value);
        return sum / Size;
    }
};

}  // namespace lockstep
