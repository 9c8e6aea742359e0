// SPDX-License-Identifier: MIT
/// @file
/// What a layer is: a type without state that maps rows to rows, and gradients of rows back.
///
/// A layer's parameters lie in a flat arena that the Network owns; a layer gets its part of it with every
/// call. All sizes follow from the type. A batch is a matrix (rows, row size) with contiguous rows; layers
/// with more structure (an image) know it themselves and see it flattened.
///
/// | member                             | meaning                                                           |
/// |------------------------------------|-------------------------------------------------------------------|
/// | `input_size`                       | scalars in a row that comes in, or `any_size`                     |
/// | `output_size(input_size)`          | scalars in the row that goes out                                  |
/// | `parameter_count`                  | scalars of the arena                                              |
/// | `workspace_size(rows, input_size)` | scalars to keep from forward to backward, beside input and output |
/// | `initialize(parameters, streams)`  | writes first values; takes one stream if it draws random numbers  |
/// | `describe(prefix, manifest)`       | appends its parameters, in arena order, named `prefix` + "weight" |
/// | `forward(ForwardPass)`             | writes the output                                                 |
/// | `backward(BackwardPass)`           | *adds* parameter gradients; writes the input gradient if wanted   |
///
/// All are static; `initialize`, `forward` and `backward` are templates over the scalar type.
///
/// Some layers have more; who leaves it out has none of it:
///
/// | member                              | meaning                                                           |
/// |-------------------------------------|-------------------------------------------------------------------|
/// | `buffer_count`                      | scalars that training changes beside the parameters, as running means |
/// | `initialize_buffers(buffers)`       | writes their first values                                         |
/// | `describe_buffers(prefix, manifest)`| appends their names and shapes                                    |
/// | `traits`                            | the PassTraits: what it asks of the ranks that train together    |
///
/// Models: Linear, Conv2d, MaxPool2d, AvgPool2d, LayerNorm, BatchNorm, Dropout, Relu, LeakyRelu, Gelu, Tanh, Sigmoid, Softmax, Sequential,
/// Residual.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <lockstep/core/config.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/pass_context.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

/// The `input_size` of a layer that takes rows of any size.
inline constexpr std::size_t any_size = 0;

/// Gives each layer that draws random numbers a stream of its own, numbered from `first` in the order of the layers:
/// the first values of one layer do not depend on the sizes of another. `first` is far above the numbers of epochs,
/// which name the streams of samplers: a model and a sampler of one seed share no numbers.
class RandomStreams {
public:
    static constexpr std::uint64_t first = std::uint64_t{1} << 63;

    explicit constexpr RandomStreams(std::uint64_t seed) noexcept : seed_(seed) {}
    constexpr Random next() noexcept { return Random(seed_, next_++); }

private:
    std::uint64_t seed_;
    std::uint64_t next_ = first;
};

/// The base of layers that have no parameters and keep nothing from forward to backward.
struct NoParameters {
    static constexpr std::size_t parameter_count = 0;
    static constexpr std::size_t workspace_size(std::size_t, std::size_t) noexcept { return 0; }
    template <class Scalar>
    static void initialize(std::span<Scalar>, RandomStreams&) noexcept {}
    static void describe(const std::string&, Manifest&) noexcept {}
};

/// What `forward` works on. A struct, so that a pass can come to say more without a change to any layer.
template <class Scalar>
struct ForwardPass {
    std::span<const Scalar> parameters{};  ///< (parameter_count)
    MatrixView<const Scalar> input{};      ///< (rows, input_size)
    MatrixView<Scalar> output{};           ///< (rows, output_size), to be written
    std::span<Scalar> workspace{};         ///< (workspace_size), to be written
    std::span<Scalar> buffers{};           ///< (buffer_count), to be changed in training only
    PassContext context{};
};

/// What `backward` works on, after a `forward` with the same parameters, input and workspace.
template <class Scalar>
struct BackwardPass {
    std::span<const Scalar> parameters{};        ///< (parameter_count)
    MatrixView<const Scalar> input{};            ///< (rows, input_size)
    MatrixView<const Scalar> output{};           ///< (rows, output_size), as `forward` wrote it
    MatrixView<const Scalar> output_gradient{};  ///< (rows, output_size)
    MatrixView<Scalar> input_gradient{};         ///< (rows, input_size), to be written if wanted
    std::span<Scalar> parameter_gradients{};     ///< (parameter_count), to be added to
    std::span<Scalar> workspace{};               ///< (workspace_size), as `forward` left it; may change
    PassContext context{};

    /// The gradient of a network's first input is of use to nobody, and costs a matrix product.
    constexpr bool wants_input_gradient() const noexcept { return input_gradient.data != nullptr; }
};

template <class Candidate>
concept HasBuffers = requires {
    { Candidate::buffer_count } -> std::convertible_to<std::size_t>;
};
namespace detail {

template <class Candidate>
inline constexpr std::size_t buffer_count_of = 0;
template <HasBuffers Candidate>
inline constexpr std::size_t buffer_count_of<Candidate> = Candidate::buffer_count;

template <class Candidate, class Scalar>
void initialize_buffers_of(std::span<Scalar> buffers) {
    if constexpr (HasBuffers<Candidate>) Candidate::initialize_buffers(buffers);
}
template <class Candidate>
void describe_buffers_of(const std::string& prefix, Manifest& manifest) {
    if constexpr (HasBuffers<Candidate>) Candidate::describe_buffers(prefix, manifest);
}

}  // namespace detail

template <class Candidate>
concept KnowsInputSize = requires {
    { Candidate::input_size } -> std::convertible_to<std::size_t>;
};
template <class Candidate>
concept KnowsOutputSize = requires(std::size_t input_size) {
    { Candidate::output_size(input_size) } -> std::convertible_to<std::size_t>;
};
template <class Candidate>
concept CountsParameters = requires {
    { Candidate::parameter_count } -> std::convertible_to<std::size_t>;
};
template <class Candidate>
concept KnowsWorkspaceSize = requires(std::size_t rows, std::size_t input_size) {
    { Candidate::workspace_size(rows, input_size) } -> std::convertible_to<std::size_t>;
};
template <class Candidate, class Scalar>
concept InitializesParameters = requires(std::span<Scalar> parameters, RandomStreams& streams) {
    Candidate::initialize(parameters, streams);
};
template <class Candidate>
concept DescribesParameters = requires(const std::string& prefix, Manifest& manifest) {
    Candidate::describe(prefix, manifest);
};
template <class Candidate, class Scalar>
concept PassesForward = requires(const ForwardPass<Scalar>& pass) {
    Candidate::forward(pass);
};
template <class Candidate, class Scalar>
concept PassesBackward = requires(const BackwardPass<Scalar>& pass) {
    Candidate::backward(pass);
};

/// A layer over `Scalar`; the table above says what its members mean.
template <class Candidate, class Scalar = float>
concept Layer = KnowsInputSize<Candidate> && KnowsOutputSize<Candidate> && CountsParameters<Candidate> &&
    KnowsWorkspaceSize<Candidate> && InitializesParameters<Candidate, Scalar> && DescribesParameters<Candidate> &&
    PassesForward<Candidate, Scalar> && PassesBackward<Candidate, Scalar>;

}  // namespace lockstep
