// SPDX-License-Identifier: MIT
/// @file
/// Layer Dropout: in training, numbers are set to 0 at random.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ratio>

#include <lockstep/core/random.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

/// Each number of a row is 0 with probability p = `Probability`, else x / (1 - p), as in PyTorch; outside of training
/// y = x (Srivastava et al., 2014). `Dropout<std::ratio<1, 2>>`; any row size.
///
/// What is dropped depends on the network's seed, the layer's place in it, the step, and the row's number in the global
/// batch: on nothing else, so it is the same for any number of ranks. Four numbers cost one Philox block.
/// Workspace: as large as a batch.
template <class Probability = std::ratio<1, 2>>
struct Dropout : NoParameters {
    static_assert(Probability::num >= 0 && Probability::num < Probability::den,
                  "the probability of a Dropout is at least 0 and less than 1");

    static constexpr double probability = static_cast<double>(Probability::num) / Probability::den;
    static constexpr std::size_t input_size = any_size;
    static constexpr PassTraits traits{.uses_global_rows = true};
    static constexpr std::size_t output_size(std::size_t size) noexcept { return size; }
    static constexpr std::size_t workspace_size(std::size_t rows, std::size_t size) noexcept { return rows * size; }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) noexcept {
        const std::size_t size = pass.input.cols;
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const std::span<Scalar> factors = pass.workspace.subspan(row * size, size);
            draw(pass.context, pass.context.first_row + row, factors);
            scale<Scalar>(pass.input.row(row), factors, pass.output.row(row));
        }
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) noexcept {
        if (!pass.wants_input_gradient()) return;
        const std::size_t size = pass.input.cols;
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const std::span<const Scalar> factors = pass.workspace.subspan(row * size, size);
            scale<Scalar>(pass.output_gradient.row(row), factors, pass.input_gradient.row(row));
        }
    }

private:
    /// 0 or 1 / (1 - p) for each number of a row; 1 outside of training.
    template <class Scalar>
    static void draw(const PassContext& context, std::uint64_t row, std::span<Scalar> factors) noexcept {
        // A word is below this bound with probability p, to 2^-32.
        constexpr auto bound = static_cast<std::uint64_t>(probability * 4294967296.0 + 0.5);
        constexpr auto kept = static_cast<Scalar>(1 / (1 - probability));
        const std::uint64_t blocks = (factors.size() + 3) / 4;
        const std::uint64_t stream = context.stream();
        for (std::size_t index = 0; index < factors.size(); index += 4) {
            const std::uint64_t block = row * blocks + index / 4;
            const auto words =
                philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                       {static_cast<std::uint32_t>(context.seed), static_cast<std::uint32_t>(context.seed >> 32)});
            for (std::size_t lane = 0; lane < 4 && index + lane < factors.size(); ++lane) {
                const bool drops = context.training && words[lane] < bound;
                factors[index + lane] = drops ? Scalar{0} : context.training ? kept : Scalar{1};
            }
        }
    }

    /// A dropped number is 0 whatever it was: NaN times 0 would be NaN.
    template <class Scalar>
    static void scale(std::span<const Scalar> from, std::span<const Scalar> factors, std::span<Scalar> into) noexcept {
        for (std::size_t index = 0; index < from.size(); ++index) {
            into[index] = factors[index] == Scalar{0} ? Scalar{0} : from[index] * factors[index];
        }
    }
};

}  // namespace lockstep
