// SPDX-License-Identifier: MIT
/// @file
/// Layer Residual: what some layers make of a row, added to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include <lockstep/core/manifest.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/nn/layer.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/nn/workspace.hpp>

namespace lockstep {

/// y = x + f(x), f the layers in order (He et al., 2016), which must keep the row size. Parameters are named as those of
/// a Sequential. Workspace: that of the Sequential, and f(x).
template <class... Layers>
struct Residual {
    using Branch = Sequential<Layers...>;
    static_assert(Branch::output_size(Branch::input_size) == Branch::input_size,
                  "the layers of a Residual keep the size of a row");

    static constexpr std::size_t input_size = Branch::input_size;
    static constexpr std::size_t parameter_count = Branch::parameter_count;
    static constexpr std::size_t buffer_count = Branch::buffer_count;
    static constexpr PassTraits traits = Branch::traits;
    static constexpr std::size_t output_size(std::size_t size) noexcept { return size; }
    static constexpr std::size_t workspace_size(std::size_t rows, std::size_t size) noexcept {
        return detail::whole_lines(rows * size) + Branch::workspace_size(rows, size);
    }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams& streams) {
        Branch::initialize(parameters, streams);
    }
    static void describe(const std::string& prefix, Manifest& manifest) { Branch::describe(prefix, manifest); }

    template <class Scalar>
    static void initialize_buffers(std::span<Scalar> buffers) {
        Branch::initialize_buffers(buffers);
    }
    static void describe_buffers(const std::string& prefix, Manifest& manifest) {
        Branch::describe_buffers(prefix, manifest);
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        const ForwardPass<Scalar> inner = of_branch(pass);
        Branch::forward(inner);
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const std::span<Scalar> output = pass.output.row(row);
            const std::span<const Scalar> input = pass.input.row(row);
            std::copy(input.begin(), input.end(), output.begin());
            kernels::add(inner.output.row(row), output);
        }
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        Branch::backward(of_branch(pass));
        if (!pass.wants_input_gradient()) return;
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            kernels::add(pass.output_gradient.row(row), pass.input_gradient.row(row));
        }
    }

private:
    /// The pass of f: its output, kept because derivatives may be taken from it, comes first in the workspace.
    template <class Pass>
    static Pass of_branch(Pass pass) noexcept {
        pass.output = {pass.workspace.data(), pass.input.rows, pass.input.cols};
        pass.workspace = pass.workspace.subspan(detail::whole_lines(pass.input.numel()));
        return pass;
    }
};

}  // namespace lockstep
