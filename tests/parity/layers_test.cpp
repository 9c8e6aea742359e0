// SPDX-License-Identifier: MIT
/// @file
/// Every layer and loss against PyTorch: outputs and gradients within 1e-11 in double and 1e-5 in float. So are the means
/// of losses over shards of unequal sizes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ratio>
#include <span>
#include <string>
#include <vector>

#include <lockstep/core/shard.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/batch_norm.hpp>
#include <lockstep/nn/binary_cross_entropy.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/embedding.hpp>
#include <lockstep/nn/flatten.hpp>
#include <lockstep/nn/huber.hpp>
#include <lockstep/nn/layer_norm.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/nn/residual.hpp>
#include <lockstep/nn/softmax.hpp>
#include <lockstep/nn/weighted.hpp>

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
void check_layer(const std::string& name, std::size_t rows, std::size_t input_size, std::vector<Scalar> input = {}) {
    const bool has_input_gradient = input.empty();
    if (input.empty()) input = test::values_of<Scalar>(rows * input_size, 5, 3);
    const std::size_t output_size = Layer::output_size(input_size);
    const auto parameters = test::values_of<Scalar>(Layer::parameter_count, 17);
    const auto output_gradient = test::values_of<Scalar>(rows * output_size, 7);
    std::vector<Scalar> output(rows * output_size);
    std::vector<Scalar> workspace(Layer::workspace_size(rows, input_size));
    std::vector<Scalar> buffers(detail::buffer_count_of<Layer>);
    detail::initialize_buffers_of<Layer>(std::span(buffers));
    ForwardPass<Scalar> forward{.parameters = parameters,
                                .input = {input.data(), rows, input_size},
                                .output = {output.data(), rows, output_size},
                                .workspace = workspace,
                                .buffers = buffers,
                                .context = {.training = true}};
    Layer::forward(forward);
    std::vector<Scalar> input_gradient(input.size());
    std::vector<Scalar> parameter_gradients(parameters.size());
    Layer::backward(BackwardPass<Scalar>{.parameters = parameters,
                                         .input = {input.data(), rows, input_size},
                                         .output = {output.data(), rows, output_size},
                                         .output_gradient = {output_gradient.data(), rows, output_size},
                                         .input_gradient = {input_gradient.data(), rows, input_size},
                                         .parameter_gradients = parameter_gradients,
                                         .workspace = workspace,
                                         .context = forward.context});
    check_near<Scalar>(name + ".output", output);
    if (has_input_gradient) check_near<Scalar>(name + ".input_gradient", input_gradient);
    if (!parameters.empty()) check_near<Scalar>(name + ".parameter_gradient", parameter_gradients);
    if (buffers.empty()) return;
    check_near<Scalar>(name + ".buffers", buffers);
    forward.context.training = false;
    Layer::forward(forward);
    check_near<Scalar>(name + ".evaluation", output);
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
    check_layer<BatchNorm<Features<7>>, Scalar>("batch_norm", 4, 7);
    check_layer<BatchNorm<Small>, Scalar>("batch_norm_of_images", 2, 60);
    check_layer<Relu, Scalar>("relu", 3, 7);
    check_layer<LeakyRelu, Scalar>("leaky_relu", 3, 7);
    check_layer<Gelu, Scalar>("gelu", 3, 7);
    check_layer<Tanh, Scalar>("tanh", 3, 7);
    check_layer<Sigmoid, Scalar>("sigmoid", 3, 7);
    check_layer<Softmax, Scalar>("softmax", 3, 7);
    check_layer<Flatten, Scalar>("flatten", 2, 60);
    check_layer<Embedding<5, 3, 2>, Scalar>("embedding", 3, 2, {3, 0, 1, 3, 4, 4});
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

constexpr std::size_t rows = 10;
constexpr std::size_t columns = 5;

/// The mean over all rows and its gradient, from the sums of the shards of several ranks, some of which have no rows or
/// rows without weight.
template <class Criterion, class Scalar, class Targets>
void check_mean(const std::string& name, const Targets& targets) {
    const auto outputs = test::values_of<Scalar>(rows * columns, 5, 3);
    const MatrixView<const Scalar> view(outputs.data(), rows, columns);
    for (const int world_size : {1, 3, 4, 12}) {
        std::vector<Scalar> gradient(rows * columns);
        const MatrixView<Scalar> written(gradient.data(), rows, columns);
        LossSum sum;
        for (int rank = 0; rank < world_size; ++rank) {
            const Shard own = shard_of(rows, rank, world_size);
            const LossSum part =
                Criterion::backward(view.slice(own), detail::slice_of(targets, own), written.slice(own));
            sum = {sum.sum + part.sum, sum.weight + part.weight};
        }
        const std::vector<Scalar> mean{static_cast<Scalar>(sum.sum / sum.weight)};
        for (Scalar& value : gradient) value /= static_cast<Scalar>(sum.weight);
        check_near<Scalar>(name + ".mean", mean);
        check_near<Scalar>(name + ".mean_gradient", gradient);
    }
}

template <class Criterion, class Scalar, class Targets>
void check_means(const std::string& name, const Targets& targets) {
    check_mean<Criterion, Scalar>(name, targets);
    const std::vector<Scalar> weights{0.5, 0, 2, 0.25, 0, 1, 1.5, 0, 3, 0.75};
    check_mean<Weighted<Criterion>, Scalar>("weighted_" + name,
                                            WeightedTargets(targets, std::span<const Scalar>(weights)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(means_over_unequal_shards, Scalar, Scalars) {
    const std::vector<std::int32_t> masked{3, 0, -100, -100, -100, -100, 1, 4, 1, 2};
    const std::vector<std::int32_t> labels{3, 0, 0, 0, 0, 0, 1, 4, 1, 2};
    const std::span<const std::int32_t> all(labels);
    const std::span<const std::int32_t> some(masked);
    check_means<CrossEntropy, Scalar>("cross_entropy", all);
    check_means<CrossEntropyWith<std::ratio<1, 10>>, Scalar>("cross_entropy_smoothed", all);
    check_means<CrossEntropyWith<std::ratio<0>, -100>, Scalar>("cross_entropy_ignored", some);
    check_means<CrossEntropyWith<std::ratio<0>, 1>, Scalar>("cross_entropy_ignored_class", all);
    check_means<CrossEntropyWith<std::ratio<1, 4>, -100>, Scalar>("cross_entropy_both", some);

    const auto numbers = test::values_of<Scalar>(rows * columns, 9);
    std::vector<Scalar> shares(numbers.size());
    for (std::size_t index = 0; index < shares.size(); ++index) {
        const auto share = static_cast<Scalar>(1.5 * static_cast<double>(numbers[index]) + 0.5);
        shares[index] = std::clamp(share, Scalar{0}, Scalar{1});
    }
    const MatrixView<const Scalar> targets(numbers.data(), rows, columns);
    check_means<BinaryCrossEntropy, Scalar>("binary_cross_entropy",
                                            MatrixView<const Scalar>(shares.data(), rows, columns));
    check_means<Huber<>, Scalar>("huber", targets);
    check_means<Huber<std::ratio<3, 4>>, Scalar>("huber_delta", targets);
    check_means<MeanSquaredError, Scalar>("mean_squared_error", targets);
}

}  // namespace
