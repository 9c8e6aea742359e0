// SPDX-License-Identifier: MIT
/// @file
/// Holds gradients to central differences, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <lockstep/core/random.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/layer.hpp>

namespace test {

using lockstep::BackwardPass;
using lockstep::ForwardPass;
using lockstep::Random;

/// `count` numbers uniform in [low, high).
inline std::vector<double> uniform(std::size_t count, std::uint64_t stream, double low = -1, double high = 1) {
    Random random(2024, stream);
    std::vector<double> values(count);
    for (double& value : values) value = random.uniform(low, high);
    return values;
}

/// The largest difference between `gradient` and (f(x + h) - f(x - h)) / 2h over the elements x of `values`,
/// in units of 1 + |gradient|. With h = 1e-5 a right gradient of a smooth function of order one stays below
/// 1e-8.
/// NaN counts as infinitely wrong. `function` reads `values`.
template <class Function>
double gradient_error(std::span<double> values, std::span<const double> gradient, Function function) {
    constexpr double step = 1e-5;
    double worst = values.size() == gradient.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        values[i] = value + step;
        const double above = function();
        values[i] = value - step;
        const double below = function();
        values[i] = value;
        const double error = std::abs((above - below) / (2 * step) - gradient[i]) / (1 + std::abs(gradient[i]));
        worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
    return worst;
}

/// The `gradient_error` of a layer on rows in +-1 (shifted by `shift` away from 0), for both its gradients,
/// with respect to a random linear function of its outputs. The parameter gradients begin at 3 and the input
/// gradient at NaN: one is to be added to, the other to be written.
template <class Layer>
double layer_error(std::size_t rows, std::size_t input_size, double shift = 0) {
    const std::size_t output_size = Layer::output_size(input_size);
    std::vector<double> parameters = uniform(Layer::parameter_count, 1);
    std::vector<double> input = uniform(rows * input_size, 2);
    for (double& value : input) value += value < 0 ? -shift : shift;
    const std::vector<double> weights = uniform(rows * output_size, 3);
    std::vector<double> output(rows * output_size);
    std::vector<double> workspace(Layer::workspace_size(rows, input_size));
    std::vector<double> buffers(lockstep::detail::buffer_count_of<Layer>);
    const lockstep::PassContext context{.training = true, .seed = 5};

    const auto function = [&] {
        Layer::forward(ForwardPass<double>{.parameters = parameters,
                                           .input = {input.data(), rows, input_size},
                                           .output = {output.data(), rows, output_size},
                                           .workspace = workspace,
                                           .buffers = buffers,
                                           .context = context});
        double sum = 0;
        for (std::size_t i = 0; i < output.size(); ++i) sum += weights[i] * output[i];
        return sum;
    };
    function();
    std::vector<double> input_gradient(input.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<double> parameter_gradients(parameters.size(), 3);
    BackwardPass<double> pass{.parameters = parameters,
                              .input = {input.data(), rows, input_size},
                              .output = {output.data(), rows, output_size},
                              .output_gradient = {weights.data(), rows, output_size},
                              .input_gradient = {input_gradient.data(), rows, input_size},
                              .parameter_gradients = parameter_gradients,
                              .workspace = workspace,
                              .context = context};
    Layer::backward(pass);

    // Once more without the input gradient: the parameter gradients must not depend on it.
    std::vector<double> alone(parameters.size(), 3);
    function();
    pass.input_gradient = {};
    pass.parameter_gradients = alone;
    Layer::backward(pass);
    if (alone != parameter_gradients) return std::numeric_limits<double>::infinity();

    for (double& gradient : parameter_gradients) gradient -= 3;
    return std::max(gradient_error(input, input_gradient, function),
                    gradient_error(parameters, parameter_gradients, function));
}

}  // namespace test
