// SPDX-License-Identifier: MIT
/// @file
/// Layer Sequential: layers one after another, itself a layer.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <lockstep/core/config.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/layer.hpp>
#include <lockstep/nn/workspace.hpp>

namespace lockstep {

/// Instantiated where two layers of a Sequential do not fit, so that the compiler's error shows the sizes:
/// the layer number `LayerIndex` expects rows of size `Expected` where those before it produce `Produced`.
template <std::size_t LayerIndex, std::size_t Produced, std::size_t Expected>
struct LayerSizeMismatch {
    static_assert(Produced == Expected,
                  "the layers of a Sequential do not fit together: read the sizes in "
                  "LayerSizeMismatch<index of the layer, row size it is given, row size it expects>");
};

namespace detail {

/// The first size that is fixed: layers before it keep the size of what comes in.
constexpr std::size_t first_fixed(std::initializer_list<std::size_t> sizes) noexcept {
    for (const std::size_t size : sizes) {
        if (size != any_size) return size;
    }
    return any_size;
}

/// One member at a time, so that the compiler's error names it.
template <class Member>
constexpr bool is_member() {
    static_assert(Layer<Member>, "every member of a Sequential must be a Layer (nn/layer.hpp says what that takes)");
    return true;
}

template <std::size_t LayerIndex, std::size_t Produced, std::size_t Expected>
constexpr bool layer_fits() {
    if constexpr (Expected != any_size && Produced != Expected) {
        return sizeof(LayerSizeMismatch<LayerIndex, Produced, Expected>) == 0;
    }
    return true;
}

template <class... Layers, std::size_t... Index>
constexpr bool layers_fit(std::index_sequence<Index...>) {
    constexpr auto given = [] {
        std::array<std::size_t, sizeof...(Layers)> sizes{};
        std::size_t size = first_fixed({Layers::input_size...});
        ((sizes[Index] = size, size = Layers::output_size(size)), ...);
        return sizes;
    }();
    return (layer_fits<Index, given[Index], Layers::input_size>() && ...);
}

}  // namespace detail

/// The layers in order, each applied to the output of the one before.
///
/// Parameters lie in the arena in the order of the layers; layer i is named `i.` as in PyTorch ("0.weight"),
/// and a Sequential in a Sequential "1.0.weight". Layers that do not fit together do not compile.
/// Workspace: twice the outputs of all layers but the last (values and their gradients).
template <class... Layers>
struct Sequential {
    static_assert(sizeof...(Layers) > 0, "a Sequential needs at least one layer");
    static_assert((detail::is_member<Layers>() && ...));

    static constexpr std::size_t layer_count = sizeof...(Layers);
    static constexpr std::size_t input_size = detail::first_fixed({Layers::input_size...});
    static constexpr std::size_t parameter_count = (std::size_t{0} + ... + Layers::parameter_count);
    static constexpr std::size_t buffer_count = (std::size_t{0} + ... + detail::buffer_count_of<Layers>);
    static constexpr PassTraits traits = (PassTraits{} | ... | detail::traits_of<Layers>);

    static_assert(detail::layers_fit<Layers...>(std::index_sequence_for<Layers...>()));

    static constexpr std::size_t output_size(std::size_t size) noexcept {
        ((size = Layers::output_size(size)), ...);
        return size;
    }

    static constexpr std::size_t workspace_size(std::size_t rows, std::size_t size) noexcept {
        std::size_t total = 0;
        std::size_t output = 0;
        ((total += detail::whole_lines(Layers::workspace_size(rows, size)), size = Layers::output_size(size),
          output = detail::whole_lines(rows * size), total += 2 * output),
         ...);
        return total - 2 * output;
    }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams& streams) {
        std::size_t first = 0;
        ((Layers::initialize(parameters.subspan(first, Layers::parameter_count), streams),
          first += Layers::parameter_count),
         ...);
    }

    static void describe(const std::string& prefix, Manifest& manifest) {
        std::size_t index = 0;
        (Layers::describe(prefix + std::to_string(index++) + ".", manifest), ...);
    }

    template <class Scalar>
    static void initialize_buffers(std::span<Scalar> buffers) {
        std::size_t first = 0;
        ((detail::initialize_buffers_of<Layers>(buffers.subspan(first, detail::buffer_count_of<Layers>)),
          first += detail::buffer_count_of<Layers>),
         ...);
    }
    static void describe_buffers(const std::string& prefix, Manifest& manifest) {
        std::size_t index = 0;
        (detail::describe_buffers_of<Layers>(prefix + std::to_string(index++) + ".", manifest), ...);
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        const auto stations = cut(pass.workspace, pass.input);
        [&]<std::size_t... Index>(std::index_sequence<Index...>) { (forward_layer<Index>(pass, stations), ...); }
        (std::index_sequence_for<Layers...>());
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        const auto stations = cut(pass.workspace, pass.input);
        [&]<std::size_t... Index>(std::index_sequence<Index...>) {
            (backward_layer<layer_count - 1 - Index>(pass, stations), ...);
        }
        (std::index_sequence_for<Layers...>());
    }

private:
    template <std::size_t Index>
    using layer_at = std::tuple_element_t<Index, std::tuple<Layers...>>;

    /// What the workspace holds for one layer. The last layer's output is not in it but with the caller.
    template <class Scalar>
    struct Station {
        std::size_t first_parameter = 0;
        std::size_t first_buffer = 0;
        std::span<Scalar> workspace{};
        MatrixView<Scalar> output{};
        MatrixView<Scalar> output_gradient{};
    };
    template <class Scalar>
    using Stations = std::array<Station<Scalar>, layer_count>;

    template <class Scalar>
    static Stations<Scalar> cut(std::span<Scalar> workspace, MatrixView<const Scalar> input) {
        Stations<Scalar> stations{};
        std::size_t index = 0;
        std::size_t first_parameter = 0;
        std::size_t first_buffer = 0;
        std::size_t size = input.cols;
        const auto take = [&](std::size_t scalars) {
            const std::span<Scalar> taken = workspace.first(scalars);
            workspace = workspace.subspan(detail::whole_lines(scalars));
            return taken;
        };
        const auto place = [&](std::size_t own, std::size_t parameters, std::size_t buffers, std::size_t output) {
            Station<Scalar>& station = stations[index];
            station.first_parameter = first_parameter;
            station.first_buffer = first_buffer;
            station.workspace = take(own);
            if (++index < layer_count) {
                station.output = {take(input.rows * output).data(), input.rows, output};
                station.output_gradient = {take(input.rows * output).data(), input.rows, output};
            }
            first_parameter += parameters;
            first_buffer += buffers;
            size = output;
        };
        (place(Layers::workspace_size(input.rows, size), Layers::parameter_count, detail::buffer_count_of<Layers>,
               Layers::output_size(size)),
         ...);
        return stations;
    }

    template <std::size_t Index, class Scalar>
    static void forward_layer(const ForwardPass<Scalar>& whole, const Stations<Scalar>& stations) {
        const Station<Scalar>& station = stations[Index];
        ForwardPass<Scalar> pass = whole;
        pass.parameters = whole.parameters.subspan(station.first_parameter, layer_at<Index>::parameter_count);
        if constexpr (Index > 0) pass.input = stations[Index - 1].output;
        if constexpr (Index + 1 < layer_count) pass.output = station.output;
        pass.workspace = station.workspace;
        pass.context = whole.context.part(Index);
        // Who calls a layer by hand may know that it has no buffers.
        constexpr std::size_t buffers = detail::buffer_count_of<layer_at<Index>>;
        if constexpr (buffers > 0) pass.buffers = whole.buffers.subspan(station.first_buffer, buffers);
        layer_at<Index>::forward(pass);
    }

    template <std::size_t Index, class Scalar>
    static void backward_layer(const BackwardPass<Scalar>& whole, const Stations<Scalar>& stations) {
        constexpr std::size_t count = layer_at<Index>::parameter_count;
        const Station<Scalar>& station = stations[Index];
        BackwardPass<Scalar> pass = whole;
        pass.parameters = whole.parameters.subspan(station.first_parameter, count);
        pass.parameter_gradients = whole.parameter_gradients.subspan(station.first_parameter, count);
        if constexpr (Index > 0) {
            pass.input = stations[Index - 1].output;
            // Layers that have no parameter before them and no caller that asks pass nothing on.
            const bool wanted = whole.wants_input_gradient() || station.first_parameter > 0;
            pass.input_gradient = wanted ? stations[Index - 1].output_gradient : MatrixView<Scalar>();
        }
        if constexpr (Index + 1 < layer_count) {
            pass.output = station.output;
            pass.output_gradient = station.output_gradient;
        }
        pass.workspace = station.workspace;
        pass.context = whole.context.part(Index);
        if (count > 0 || pass.wants_input_gradient()) layer_at<Index>::backward(pass);
        // The layers behind it are done, and theirs come after its in the arena.
        if (count > 0) pass.context.gradients_are_final_from(pass.parameter_gradients.data());
    }
};

}  // namespace lockstep
