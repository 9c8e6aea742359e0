// SPDX-License-Identifier: MIT
/// @file
/// Network: a layer, a loss, and the two flat arenas that parameters and gradients live in.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/batch.hpp>
#include <lockstep/nn/layer.hpp>
#include <lockstep/nn/loss.hpp>
#include <lockstep/nn/workspace.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep {

/// A model (see core/concepts.hpp) of which all sizes are known at compile time.
///
///     using Net = Network<Sequential<Linear<64, 32>, Relu, Linear<32, 10>>, CrossEntropy>;
///
/// Memory: twice `parameter_count` scalars where `Storage` puts them, and a workspace on the heap, in
/// proportion to the largest batch so far: evaluate a large set in slices. A call allocates only when its
/// batch is larger than any before. `Inline<Architecture::parameter_count>` puts both arenas in the object.
/// Copies and moves do what the storage policy does; nothing points into an arena.
template <class Architecture, class Criterion, class Scalar = float, class Storage = Aligned>
class Network {
    static_assert(std::floating_point<Scalar>, "the scalar type of a Network is float or double");
    static_assert(Layer<Architecture, Scalar>, "the architecture of a Network must be a Layer (nn/layer.hpp)");
    static_assert(Loss<Criterion, Scalar>, "the second argument of a Network must be a Loss (nn/loss.hpp)");
    static_assert(std::size_t{Architecture::input_size} != any_size,
                  "a Network needs at least one layer that fixes the number of inputs, such as Linear");

public:
    using scalar_type = Scalar;
    using buffer_type = typename Storage::template buffer<Scalar>;
    using batch_type = Batch<Scalar, typename Criterion::template targets_type<Scalar>>;

    static constexpr std::size_t input_size = Architecture::input_size;
    static constexpr std::size_t output_size = Architecture::output_size(input_size);
    static constexpr std::size_t parameter_count = Architecture::parameter_count;
    static constexpr std::size_t buffer_count = detail::buffer_count_of<Architecture>;
    static constexpr PassTraits traits = detail::traits_of<Architecture>;

    /// Parameters drawn from `seed`, the same wherever it is called; gradients zero.
    explicit Network(std::uint64_t seed) requires std::constructible_from<buffer_type, std::size_t>
        : parameters_(parameter_count), gradients_(parameter_count) {
        initialize(seed);
    }

    /// Parameters and gradients in memory that exists, with the values it holds.
    /// @throws ShapeError unless each holds exactly `parameter_count` scalars
    Network(buffer_type parameters, buffer_type gradients)
        : parameters_(std::move(parameters)), gradients_(std::move(gradients)) {
        check_arena("parameters", parameters_.size());
        check_arena("gradients", gradients_.size());
        detail::initialize_buffers_of<Architecture>(buffers());
    }

    /// Draws all parameters anew: layer number i among those that draw from stream
    /// `RandomStreams::first` + i of `seed`. What is random in a pass (Dropout) is drawn from `seed` too.
    void initialize(std::uint64_t seed) {
        seed_ = seed;
        RandomStreams streams(seed);
        Architecture::initialize(parameters(), streams);
        detail::initialize_buffers_of<Architecture>(buffers());
    }
    std::uint64_t seed() const noexcept { return seed_; }
    /// The seed of what is random in a pass; parameters stay.
    void set_seed(std::uint64_t seed) noexcept { seed_ = seed; }

    std::span<Scalar> parameters() noexcept { return {parameters_.data(), parameters_.size()}; }
    std::span<const Scalar> parameters() const noexcept { return {parameters_.data(), parameters_.size()}; }
    std::span<Scalar> gradients() noexcept { return {gradients_.data(), gradients_.size()}; }
    std::span<const Scalar> gradients() const noexcept { return {gradients_.data(), gradients_.size()}; }
    /// What training changes beside the parameters, as running statistics; empty for most networks.
    std::span<Scalar> buffers() noexcept { return {buffers_.data(), buffers_.size()}; }
    std::span<const Scalar> buffers() const noexcept { return {buffers_.data(), buffers_.size()}; }
    void zero_grad() noexcept { std::fill_n(gradients_.data(), gradients_.size(), Scalar{0}); }

    /// Names and shapes in arena order; names as in PyTorch.
    static Manifest manifest() {
        Manifest parameters;
        Architecture::describe("", parameters);
        return parameters;
    }
    /// The same for the buffers.
    static Manifest buffer_manifest() {
        Manifest buffers;
        detail::describe_buffers_of<Architecture>("", buffers);
        return buffers;
    }

    /// Adds the gradient of the summed loss of `batch` to `gradients()`; nothing for a batch without rows.
    /// Each call counts as a step of its own for what is random in it.
    /// @throws ShapeError for inputs or targets that do not fit, before anything is changed
    LossSum backward(const batch_type& batch) { return backward(batch, {.step = passes_++}); }

    /// The same as part of a step that other ranks take too (DataParallel says which). A batch without rows makes its
    /// passes if other ranks wait for that (`traits.sums_over_ranks`).
    LossSum backward(const batch_type& batch, PassContext context) {
        const bool has_rows = check(batch);
        if (!has_rows && (!traits.sums_over_ranks || context.global == nullptr)) return {};
        context.training = true;
        context.seed = seed_;
        const Pass pass = begin(batch.inputs, context);
        Architecture::forward(pass.forward);
        const LossSum loss = Criterion::backward(pass.forward.output, batch.targets, pass.output_gradient);
        context.loss_is(loss);
        Architecture::backward(BackwardPass<Scalar>{.parameters = pass.forward.parameters,
                                                    .input = pass.forward.input,
                                                    .output = pass.forward.output,
                                                    .output_gradient = pass.output_gradient,
                                                    .input_gradient = {},
                                                    .parameter_gradients = gradients(),
                                                    .workspace = pass.forward.workspace,
                                                    .context = context});
        return loss;
    }

    /// The summed loss of `batch`, without a gradient. @throws ShapeError as `backward`
    LossSum loss(const batch_type& batch) {
        if (!check(batch)) return {};
        return Criterion::evaluate(forward(batch.inputs), batch.targets);
    }

    /// The outputs (rows, output_size) for `inputs` (rows, input_size); valid until the next call.
    /// @throws ShapeError for rows that do not fit
    MatrixView<const Scalar> forward(MatrixView<const Scalar> inputs) {
        if (inputs.rows == 0) return {nullptr, 0, output_size};
        check_inputs(inputs);
        const Pass pass = begin(inputs, {});
        Architecture::forward(pass.forward);
        return pass.forward.output;
    }

private:
    struct Pass {
        ForwardPass<Scalar> forward;
        MatrixView<Scalar> output_gradient;
    };

    /// Lays out the workspace: output, its gradient, and what the layers keep.
    Pass begin(MatrixView<const Scalar> inputs, const PassContext& context) {
        const std::size_t rows = inputs.rows;
        const std::size_t output = detail::whole_lines(rows * output_size);
        const std::size_t kept = Architecture::workspace_size(rows, input_size);
        const std::span<Scalar> memory = workspace_.reserve(2 * output + kept);
        return {{.parameters = parameters(),
                 .input = rows == 0 ? MatrixView<const Scalar>{nullptr, 0, input_size} : inputs,
                 .output = {memory.data(), rows, output_size},
                 .workspace = memory.subspan(2 * output, kept),
                 .buffers = buffers(),
                 .context = context},
                {memory.data() + output, rows, output_size}};
    }

    /// False if there is nothing to do.
    static bool check(const batch_type& batch) {
        batch.check();
        if (batch.rows() == 0) return false;
        check_inputs(batch.inputs);
        return true;
    }
    static void check_inputs(const MatrixView<const Scalar>& inputs) {
        if (inputs.cols != input_size) {
            throw ShapeError("the network takes rows of " + std::to_string(input_size) + " inputs, not of " +
                             std::to_string(inputs.cols));
        }
        if (inputs.col_stride != 1 && inputs.cols > 1) {
            throw ShapeError("the inputs in a row must be neighbours, not " + std::to_string(inputs.col_stride) +
                             " elements apart");
        }
    }
    static void check_arena(const char* name, std::size_t size) {
        if (size != parameter_count) {
            throw ShapeError(std::string("a network of ") + std::to_string(parameter_count) + " parameters was given " +
                             std::to_string(size) + " " + name);
        }
    }

    buffer_type parameters_;
    buffer_type gradients_;
    Aligned::buffer<Scalar> buffers_{buffer_count};
    std::uint64_t seed_ = 0;
    std::uint64_t passes_ = 0;
    Workspace<Scalar> workspace_;
};

}  // namespace lockstep
