// SPDX-License-Identifier: MIT
/// @file
/// Layer Softmax: every row becomes a distribution.
#pragma once

#include <cstddef>
#include <span>

#include <lockstep/kernels/rows.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

/// exp(x) / sum of exp(x) over the row, row size unchanged; finite for all finite rows. CrossEntropy has one of its own:
/// this is for what comes before another loss.
struct Softmax : NoParameters {
    static constexpr std::size_t input_size = any_size;
    static constexpr std::size_t output_size(std::size_t size) noexcept { return size; }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) noexcept {
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            kernels::softmax(pass.input.row(row), pass.output.row(row));
        }
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) noexcept {
        if (!pass.wants_input_gradient()) return;
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const std::span<const Scalar> share = pass.output.row(row);
            const std::span<const Scalar> gradient = pass.output_gradient.row(row);
            const std::span<Scalar> input_gradient = pass.input_gradient.row(row);
            Scalar mean = 0;
            for (std::size_t index = 0; index < share.size(); ++index) mean += share[index] * gradient[index];
            for (std::size_t index = 0; index < share.size(); ++index) {
                input_gradient[index] = share[index] * (gradient[index] - mean);
            }
        }
    }
};

}  // namespace lockstep
