// SPDX-License-Identifier: MIT
/// @file
/// Layer BatchNorm: every channel gets mean 0 and variance 1 over the batch, then a scale and a shift of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <lockstep/core/error.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/nn/image.hpp>
#include <lockstep/nn/layer.hpp>

namespace lockstep {

/// Over which rows a BatchNorm takes mean and variance: those of the global batch, as if one process had it all, or
/// those of this rank alone (what PyTorch's DistributedDataParallel does without SyncBatchNorm).
enum class Statistics { global, local };

/// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias, mean and variance of each channel over the batch in training,
/// running ones otherwise (Ioffe and Szegedy, 2015). Rows hold a `Shape`: an Image, or BatchNorm of `Features<n>` for n
/// channels of a number each. `weight` (channels), at first 1, `bias` (channels), at first 0; buffers `running_mean`, at
/// first 0, and `running_var`, at first 1: a tenth of each batch's mean and unbiased variance enters, as in PyTorch.
///
/// Global statistics are exact over the shards of all ranks, empty ones included: sums are taken in double, the variance
/// from distances to the mean. Cost, beside the passes over the rows: three sums over the ranks in each training pass,
/// of channels + 1, channels and 2 channels doubles. Local ones cost none; the running ones are then averaged over ranks
/// by rows, once a step.
/// Workspace: two scalars a channel.
/// @throws ShapeError in training, on all ranks, if a channel has only one number in the whole batch: it has no variance
template <class Shape, Statistics statistics = Statistics::global>
struct BatchNorm {
    static constexpr double epsilon = 1e-5;
    static constexpr double momentum = 0.1;
    static constexpr std::size_t channels = Shape::channels;
    static constexpr std::size_t pixels = Shape::pixels;
    static constexpr std::size_t input_size = Shape::size;
    static constexpr std::size_t parameter_count = 2 * channels;
    static constexpr std::size_t buffer_count = 2 * channels;
    static constexpr PassTraits traits{.sums_over_ranks = statistics == Statistics::global,
                                       .local_buffers = statistics == Statistics::local};
    static constexpr std::size_t output_size(std::size_t) noexcept { return input_size; }
    static constexpr std::size_t workspace_size(std::size_t, std::size_t) noexcept { return 2 * channels + 1; }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams&) noexcept {
        std::fill_n(parameters.begin(), channels, Scalar{1});
        std::fill_n(parameters.begin() + channels, channels, Scalar{0});
    }
    static void describe(const std::string& prefix, Manifest& manifest) {
        manifest.push_back({prefix + "weight", {channels}});
        manifest.push_back({prefix + "bias", {channels}});
    }
    template <class Scalar>
    static void initialize_buffers(std::span<Scalar> buffers) noexcept {
        std::fill_n(buffers.begin(), channels, Scalar{0});
        std::fill_n(buffers.begin() + channels, channels, Scalar{1});
    }
    static void describe_buffers(const std::string& prefix, Manifest& manifest) {
        manifest.push_back({prefix + "running_mean", {channels}});
        manifest.push_back({prefix + "running_var", {channels}});
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        Kept<Scalar> kept(pass.workspace);
        if (pass.context.training) {
            take_statistics(pass, kept);
        } else {
            kept.share = 0;
            for (std::size_t channel = 0; channel < channels; ++channel) {
                kept.means[channel] = pass.buffers[channel];
                kept.scales[channel] = scale_of<Scalar>(static_cast<double>(pass.buffers[channels + channel]));
            }
        }
        for_each_channel(pass.input, [&](std::size_t row, std::size_t channel, std::size_t first) {
            const Scalar scale = kept.scales[channel] * pass.parameters[channel];
            const Scalar shift = pass.parameters[channels + channel];
            const std::span<const Scalar> input = pass.input.row(row).subspan(first, pixels);
            const std::span<Scalar> output = pass.output.row(row).subspan(first, pixels);
            for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
                output[pixel] = (input[pixel] - kept.means[channel]) * scale + shift;
            }
        });
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        const Kept<Scalar> kept(pass.workspace);
        // The sums of the gradient, and of the gradient times the normal value, of each channel.
        std::array<double, 2 * channels> sums{};
        for_each_channel(pass.input, [&](std::size_t row, std::size_t channel, std::size_t first) {
            const std::span<const Scalar> input = pass.input.row(row).subspan(first, pixels);
            const std::span<const Scalar> gradient = pass.output_gradient.row(row).subspan(first, pixels);
            double sum = 0;
            double projection = 0;
            for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
                sum += static_cast<double>(gradient[pixel]);
                projection +=
                    static_cast<double>(gradient[pixel]) * static_cast<double>(input[pixel] - kept.means[channel]);
            }
            sums[channel] += sum;
            sums[channels + channel] += projection * static_cast<double>(kept.scales[channel]);
        });
        // Of this rank's rows: what ranks add up to is the sum over all.
        for (std::size_t channel = 0; channel < channels; ++channel) {
            pass.parameter_gradients[channel] += static_cast<Scalar>(sums[channels + channel]);
            pass.parameter_gradients[channels + channel] += static_cast<Scalar>(sums[channel]);
        }
        // All ranks ask for the input gradient, or none does.
        if (!pass.wants_input_gradient()) return;
        if (statistics == Statistics::global) pass.context.sum(sums);
        for_each_channel(pass.input, [&](std::size_t row, std::size_t channel, std::size_t first) {
            const Scalar scale = kept.scales[channel];
            const auto mean_gradient = static_cast<Scalar>(sums[channel] * static_cast<double>(kept.share));
            const auto mean_projection =
                static_cast<Scalar>(sums[channels + channel] * static_cast<double>(kept.share)) * scale;
            const std::span<const Scalar> input = pass.input.row(row).subspan(first, pixels);
            const std::span<const Scalar> gradient = pass.output_gradient.row(row).subspan(first, pixels);
            const std::span<Scalar> input_gradient = pass.input_gradient.row(row).subspan(first, pixels);
            for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
                const Scalar distance = input[pixel] - kept.means[channel];
                input_gradient[pixel] =
                    (gradient[pixel] - mean_gradient - distance * mean_projection) * (scale * pass.parameters[channel]);
            }
        });
    }

private:
    /// What backward needs of forward.
    template <class Scalar>
    struct Kept {
        explicit Kept(std::span<Scalar> workspace) noexcept
            : means(workspace.first(channels)),
              scales(workspace.subspan(channels, channels)),
              share(workspace[2 * channels]) {}

        std::span<Scalar> means;
        std::span<Scalar> scales;  ///< 1 / sqrt(variance + epsilon)
        Scalar& share;             ///< one number's share in a mean: 1 / count, or 0 if the mean is not of this batch
    };

    template <class Scalar>
    static void take_statistics(const ForwardPass<Scalar>& pass, Kept<Scalar>& kept) {
        std::array<double, channels + 1> means{};
        for_each_channel(pass.input, [&](std::size_t row, std::size_t channel, std::size_t first) {
            double sum = 0;
            for (const Scalar value : pass.input.row(row).subspan(first, pixels)) sum += static_cast<double>(value);
            means[channel] += sum;
        });
        means[channels] = static_cast<double>(pass.input.rows * pixels);
        if (statistics == Statistics::global) pass.context.sum(means);
        const double count = means[channels];
        if (count == 1) throw ShapeError("BatchNorm: a batch with one number in each channel has no variance");
        const double share = count > 0 ? 1 / count : 0;
        std::array<double, channels> variances{};
        for (std::size_t channel = 0; channel < channels; ++channel) means[channel] *= share;
        for_each_channel(pass.input, [&](std::size_t row, std::size_t channel, std::size_t first) {
            double squares = 0;
            for (const Scalar value : pass.input.row(row).subspan(first, pixels)) {
                const double distance = static_cast<double>(value) - means[channel];
                squares += distance * distance;
            }
            variances[channel] += squares;
        });
        if (statistics == Statistics::global) pass.context.sum(variances);
        kept.share = static_cast<Scalar>(share);
        for (std::size_t channel = 0; channel < channels; ++channel) {
            kept.means[channel] = static_cast<Scalar>(means[channel]);
            kept.scales[channel] = scale_of<Scalar>(variances[channel] * share);
            if (count == 0) continue;
            move_to(pass.buffers[channel], means[channel]);
            move_to(pass.buffers[channels + channel], variances[channel] / (count - 1));
        }
    }

    template <class Scalar>
    static Scalar scale_of(double variance) noexcept {
        return static_cast<Scalar>(1 / std::sqrt(variance + epsilon));
    }
    template <class Scalar>
    static void move_to(Scalar& running, double value) noexcept {
        running = static_cast<Scalar>((1 - momentum) * static_cast<double>(running) + momentum * value);
    }

    /// `work(row, channel, where the channel begins in the row)`
    template <class Scalar, class Work>
    static void for_each_channel(const MatrixView<const Scalar>& input, const Work& work) {
        for (std::size_t row = 0; row < input.rows; ++row) {
            for (std::size_t channel = 0; channel < channels; ++channel) work(row, channel, channel * pixels);
        }
    }
};

}  // namespace lockstep
