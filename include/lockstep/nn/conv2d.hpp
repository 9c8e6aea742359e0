// SPDX-License-Identifier: MIT
/// @file
/// Layer Conv2d: the cross-correlation of images with small windows, as in PyTorch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <lockstep/core/config.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/kernels/gemm.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/kernels/patches.hpp>
#include <lockstep/nn/image.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

/// (rows, In) to (rows, output_image), an Image of `OutChannels` channels, with `weight`
/// (OutChannels, In::channels, Kernel, Kernel) and `bias` (OutChannels), in that order. `Padding` zeros are taken to lie
/// on each side.
///
///     using First = Conv2d<Image<1, 28, 28>, 32, 3>;
///     using Second = Conv2d<First::output_image, 64, 3>;
///
/// First values as in PyTorch: uniform in +-1/sqrt(In::channels Kernel^2), weight and bias alike.
/// Complexity: 2 rows OutChannels patches In::channels Kernel^2 flops forward, twice that backward, less a half where no
/// input gradient is wanted. Workspace: the patches of one image, twice. `Gemm` computes the
/// products.
template <class In, std::size_t OutChannels, std::size_t Kernel, std::size_t Stride = 1, std::size_t Padding = 0,
          class Gemm = kernels::OwnGemm>
struct Conv2d {
    static_assert(OutChannels > 0 && Kernel > 0 && Stride > 0,
                  "a Conv2d has at least one output channel, a kernel and a stride");
    static_assert(In::height + 2 * Padding >= Kernel && In::width + 2 * Padding >= Kernel,
                  "the kernel of a Conv2d fits into its padded image");

    static constexpr kernels::PatchShape patches{In::channels, In::height, In::width, Kernel, Stride, Padding};
    using output_image = Image<OutChannels, patches.patch_rows(), patches.patch_cols()>;

    static constexpr std::size_t input_size = In::size;
    static constexpr std::size_t weight_count = OutChannels * patches.patch_size();
    static constexpr std::size_t parameter_count = weight_count + OutChannels;

    static constexpr std::size_t output_size(std::size_t) noexcept { return output_image::size; }
    static constexpr std::size_t workspace_size(std::size_t rows, std::size_t) noexcept {
        return rows > 0 ? 2 * matrix_size : 0;
    }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams& streams) noexcept {
        Random random = streams.next();
        const double bound = 1 / std::sqrt(static_cast<double>(patches.patch_size()));
        for (Scalar& parameter : parameters) parameter = static_cast<Scalar>(random.uniform(-bound, bound));
    }

    static void describe(const std::string& prefix, Manifest& manifest) {
        manifest.push_back({prefix + "weight", {OutChannels, In::channels, Kernel, Kernel}});
        manifest.push_back({prefix + "bias", {OutChannels}});
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        const MatrixView<const Scalar> weight(pass.parameters.data(), OutChannels, patches.patch_size());
        const MatrixView<Scalar> matrix(pass.workspace.data(), patches.patch_size(), output_image::pixels);
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            kernels::gather_patches(patches, pass.input.row(row).data(), matrix.data);
            const MatrixView<Scalar> output(pass.output.row(row).data(), OutChannels, output_image::pixels);
            // The bias goes first, while it costs a write only; the product is added to it.
            for (std::size_t channel = 0; channel < OutChannels; ++channel) {
                const std::span<Scalar> pixels = output.row(channel);
                std::fill(pixels.begin(), pixels.end(), pass.parameters[weight_count + channel]);
            }
            Gemm::product(weight, matrix, output, kernels::Accumulate::yes);
        }
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        if (pass.input.rows == 0) return;
        const MatrixView<const Scalar> weight(pass.parameters.data(), OutChannels, patches.patch_size());
        const MatrixView<Scalar> weight_gradient(pass.parameter_gradients.data(), OutChannels, patches.patch_size());
        const MatrixView<Scalar> matrix(pass.workspace.data(), patches.patch_size(), output_image::pixels);
        const MatrixView<Scalar> gradient(pass.workspace.data() + matrix_size, patches.patch_size(),
                                          output_image::pixels);
        for (std::size_t row = 0; row < pass.input.rows; ++row) {
            const MatrixView<const Scalar> output_gradient(pass.output_gradient.row(row).data(), OutChannels,
                                                           output_image::pixels);
            // Gathered again: cheaper than to keep the patches of all images.
            kernels::gather_patches(patches, pass.input.row(row).data(), matrix.data);
            Gemm::product(output_gradient, matrix.transposed(), weight_gradient, kernels::Accumulate::yes);
            for (std::size_t channel = 0; channel < OutChannels; ++channel) {
                pass.parameter_gradients[weight_count + channel] += sum_of(output_gradient.row(channel));
            }
            if (!pass.wants_input_gradient()) continue;
            Gemm::product(weight.transposed(), output_gradient, gradient);
            const std::span<Scalar> input_gradient = pass.input_gradient.row(row);
            std::fill(input_gradient.begin(), input_gradient.end(), Scalar{});
            kernels::scatter_patches(patches, gradient.data, input_gradient.data());
        }
    }

private:
    static constexpr std::size_t matrix_size = patches.patch_size() * output_image::pixels;

    /// In several running sums, so that an addition need not wait for the one before.
    template <class Scalar>
    static Scalar sum_of(std::span<const Scalar> values) noexcept {
        const Scalar* const from = values.data();
        const std::size_t whole = values.size() - values.size() % 8;
        Scalar sums[8]{};
        for (std::size_t index = 0; index < whole; index += 8) {
            for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += from[index + lane];
        }
        for (std::size_t index = whole; index < values.size(); ++index) sums[index - whole] += from[index];
        return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    }
};

}  // namespace lockstep
