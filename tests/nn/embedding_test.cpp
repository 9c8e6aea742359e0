// SPDX-License-Identifier: MIT
#include <lockstep/nn/embedding.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

static_assert(Layer<Embedding<5, 3>> && Layer<Embedding<5, 3, 2>, double>);
static_assert(Embedding<5, 3, 2>::output_size(2) == 6 && Embedding<5, 3, 2>::parameter_count == 15);

BOOST_AUTO_TEST_CASE(rows_are_looked_up_and_their_gradients_added_where_they_came_from) {
    using Table = Embedding<4, 2, 2>;
    const std::vector<float> parameters{0, 1, 10, 11, 20, 21, 30, 31};
    const std::vector<float> input{3, 0, 1, 3};
    std::vector<float> output(8);
    Table::forward(ForwardPass<float>{parameters, {input.data(), 2, 2}, {output.data(), 2, 4}, {}});
    BOOST_TEST(output == (std::vector<float>{30, 31, 0, 1, 10, 11, 30, 31}), boost::test_tools::per_element());

    const std::vector<float> output_gradient{1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<float> input_gradient(4, 9);
    std::vector<float> gradients(8, 100);
    BackwardPass<float> pass{parameters,
                             {input.data(), 2, 2},
                             {output.data(), 2, 4},
                             {output_gradient.data(), 2, 4},
                             {input_gradient.data(), 2, 2},
                             gradients,
                             {}};
    Table::backward(pass);
    BOOST_TEST(gradients == (std::vector<float>{103, 104, 105, 106, 100, 100, 108, 110}),
               boost::test_tools::per_element());
    for (const float value : input_gradient) BOOST_TEST(value == 0);
    pass.input_gradient = {};
    Table::backward(pass);
    BOOST_TEST(gradients[6] == 116);
}

using Net = Network<Sequential<Embedding<5, 3, 2>, Linear<6, 2>>, MeanSquaredError, double>;

BOOST_AUTO_TEST_CASE(gradients_in_a_network_match_central_differences) {
    Net net{7};
    const std::vector<double> input{4, 0, 1, 1, 0, 3};
    const std::vector<double> targets = test::uniform(6, 2);
    const Net::batch_type batch{{input.data(), 3, 2}, {targets.data(), 3, 2}};
    net.backward(batch);
    BOOST_TEST(test::gradient_error(net.parameters(), net.gradients(), [&] { return net.loss(batch).sum; }) < 1e-8);
    BOOST_TEST(net.manifest().front().name == "0.weight");
    BOOST_TEST((net.manifest().front().shape == std::vector<std::size_t>{5, 3}));
}

BOOST_AUTO_TEST_CASE(what_is_no_index_is_named_before_anything_is_changed) {
    Net net{7};
    const std::vector<double> targets(6);
    const auto refuses = [&](double value, const std::string& text) {
        const std::vector<double> input{4, 0, 1, value, 0, 3};
        const Net::batch_type batch{{input.data(), 3, 2}, {targets.data(), 3, 2}};
        const auto says = [&](const ShapeError& error) {
            return error.what() ==
                   "Embedding: the index of row 1, column 1 is " + text + ", not a whole number in [0, 5)";
        };
        BOOST_CHECK_EXCEPTION(net.backward(batch), ShapeError, says);
        BOOST_CHECK_EXCEPTION(net.forward(batch.inputs), ShapeError, says);
        for (const double gradient : net.gradients()) BOOST_TEST(gradient == 0);
    };
    refuses(5, "5");
    refuses(-1, "-1");
    refuses(2.5, "2.5");
    refuses(1e300, "1e+300");
    refuses(std::numeric_limits<double>::quiet_NaN(), "nan");
    refuses(std::numeric_limits<double>::infinity(), "inf");
}

BOOST_AUTO_TEST_CASE(first_values_are_normal) {
    std::vector<double> values(20000);
    RandomStreams streams(3);
    Embedding<2000, 10>::initialize(std::span(values), streams);
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    // Five standard deviations: 5 / sqrt(20000), and sqrt(2) times that.
    BOOST_TEST(std::abs(sum / 20000) < 0.036);
    BOOST_TEST(std::abs(squares / 20000 - 1) < 0.05);
    RandomStreams again(3);
    BOOST_TEST(values[0] == again.next().normal());
}

}  // namespace
