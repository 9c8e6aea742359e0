// SPDX-License-Identifier: MIT
/// @file
/// Layer Linear: y = x W^T + b.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <lockstep/core/config.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/kernels/gemm.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/kernels/rows.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

/// A fully connected layer: (rows, In) to (rows, Out), with `weight` (Out, In) and `bias` (Out), in that
/// order.
///
/// First values as in PyTorch: uniform in +-1/sqrt(In), weight and bias alike.
/// Complexity: 2 rows In Out flops forward, twice that backward, less a half where no input gradient is
/// wanted. `Gemm` computes the products.
template <std::size_t In, std::size_t Out, class Gemm = kernels::OwnGemm>
struct Linear {
    static_assert(In > 0 && Out > 0, "a Linear layer needs at least one input and at least one output");

    static constexpr std::size_t input_size = In;
    static constexpr std::size_t parameter_count = Out * In + Out;

    static constexpr std::size_t output_size(std::size_t) noexcept { return Out; }
    static constexpr std::size_t workspace_size(std::size_t, std::size_t) noexcept { return 0; }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams& streams) noexcept {
        Random random = streams.next();
        const double bound = 1 / std::sqrt(static_cast<double>(In));
        for (Scalar& parameter : parameters) parameter = static_cast<Scalar>(random.uniform(-bound, bound));
    }

    static void describe(const std::string& prefix, Manifest& manifest) {
        manifest.push_back({prefix + "weight", {Out, In}});
        manifest.push_back({prefix + "bias", {Out}});
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        const MatrixView<const Scalar> weight(pass.parameters.data(), Out, In);
        Gemm::product(pass.input, weight.transposed(), pass.output);
        kernels::add_to_rows(pass.parameters.template subspan<Out * In, Out>(), pass.output);
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        const MatrixView<const Scalar> weight(pass.parameters.data(), Out, In);
        const MatrixView<Scalar> weight_gradient(pass.parameter_gradients.data(), Out, In);
        const std::span<Scalar> bias_gradient = pass.parameter_gradients.subspan(Out * In, Out);
        Gemm::product(pass.output_gradient.transposed(), pass.input, weight_gradient, kernels::Accumulate::yes);
        kernels::add_column_sums(pass.output_gradient, bias_gradient);
        if (pass.wants_input_gradient()) Gemm::product(pass.output_gradient, weight, pass.input_gradient);
    }
};

}  // namespace lockstep
