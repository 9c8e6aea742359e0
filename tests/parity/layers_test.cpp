// SPDX-License-Identifier: MIT
/// @file
/// Every layer and loss against PyTorch: outputs and gradients within 1e-11 in double and 1e-5 in float.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/layer_norm.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/nn/residual.hpp>
#include <lockstep/nn/softmax.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "parity/golden.hpp"

namespace {

using namespace lockstep;
using Scalars = boost::mpl::list<double, float>;

template <class Scalar>
void check_near(const std::string& name, std::span<const Scalar> values) {
    const double error = test::relative_error(values, test::golden(name));
    BOOST_TEST(error <= test::limit<Scalar>(1e-11, 1e-5), name << ": " << error);
}

template <class Layer, class Scalar>
void check_layer(const std::string& name, std::size_t rows, std::size_t input_size) {
    const std::size_t output_size = Layer::output_size(input_size);
    const auto parameters = test::values_of<Scalar>(Layer::parameter_count, 17);
    const auto input = test::values_of<Scalar>(rows * input_size, 5, 3);
    const auto output_gradient = test::values_of<Scalar>(rows * output_size, 7);
    std::vector<Scalar> output(rows * output_size);
    std::vector<Scalar> workspace(Layer::workspace_size(rows, input_size));
    Layer::forward(ForwardPass<Scalar>{.parameters = parameters,
                                       .input = {input.data(), rows, input_size},
                                       .output = {output.data(), rows, output_size},
                                       .workspace = workspace});
    std::vector<Scalar> input_gradient(input.size());
    std::vector<Scalar> parameter_gradients(parameters.size());
    Layer::backward(BackwardPass<Scalar>{.parameters = parameters,
                                         .input = {input.data(), rows, input_size},
                                         .output = {output.data(), rows, output_size},
                                         .output_gradient = {output_gradient.data(), rows, output_size},
                                         .input_gradient = {input_gradient.data(), rows, input_size},
                                         .parameter_gradients = parameter_gradients,
                                         .workspace = workspace});
    check_near<Scalar>(name + ".output", output);
    check_near<Scalar>(name + ".input_gradient", input_gradient);
    if (!parameters.empty()) check_near<Scalar>(name + ".parameter_gradient", parameter_gradients);
}

using Small = Image<2, 5, 6>;

BOOST_AUTO_TEST_CASE_TEMPLATE(layers, Scalar, Scalars) {
    check_layer<Linear<5, 4>, Scalar>("linear", 3, 5);
    check_layer<Conv2d<Small, 3, 3>, Scalar>("conv2d", 2, 60);
    check_layer<Conv2d<Small, 3, 3, 2, 1>, Scalar>("conv2d_stride_padding", 2, 60);
    check_layer<Conv2d<Image<1, 4, 3>, 2, 2, 3, 2>, Scalar>("conv2d_wide_padding", 2, 12);
    check_layer<MaxPool2d<Small, 2>, Scalar>("max_pool2d", 2, 60);
    check_layer<MaxPool2d<Small, 3, 2>, Scalar>("max_pool2d_overlapping", 2, 60);
    check_layer<AvgPool2d<Small, 2>, Scalar>("avg_pool2d", 2, 60);
    check_layer<AvgPool2d<Small, 3, 1>, Scalar>("avg_pool2d_overlapping", 2, 60);
    check_layer<LayerNorm<7>, Scalar>("layer_norm", 3, 7);
    check_layer<Relu, Scalar>("relu", 3, 7);
    check_layer<LeakyRelu, Scalar>("leaky_relu", 3, 7);
    check_layer<Gelu, Scalar>("gelu", 3, 7);
    check_layer<Tanh, Scalar>("tanh", 3, 7);
    check_layer<Sigmoid, Scalar>("sigmoid", 3, 7);
    check_layer<Softmax, Scalar>("softmax", 3, 7);
    check_layer<Residual<Linear<5, 5>, Relu>, Scalar>("residual", 3, 5);
}

template <class Criterion, class Scalar, class Targets>
void check_loss(const std::string& name, const Targets& targets) {
    const auto outputs = test::values_of<Scalar>(20, 5, 3);
    std::vector<Scalar> gradient(20);
    const MatrixView<const Scalar> view(outputs.data(), 4, 5);
    const std::vector<Scalar> loss{
        static_cast<Scalar>(Criterion::backward(view, targets, MatrixView<Scalar>(gradient.data(), 4, 5)).sum)};
    check_near<Scalar>(name + ".loss", loss);
    check_near<Scalar>(name + ".gradient", gradient);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(losses, Scalar, Scalars) {
    const std::vector<std::int32_t> labels{3, 0, 4, 3};
    check_loss<CrossEntropy, Scalar>("cross_entropy", std::span<const std::int32_t>(labels));
    const auto numbers = test::values_of<Scalar>(20, 9);
    check_loss<MeanSquaredError, Scalar>("mean_squared_error", MatrixView<const Scalar>(numbers.data(), 4, 5));
}

}  // namespace
