// SPDX-License-Identifier: MIT
#include <lockstep/nn/layer_norm.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

static_assert(Layer<LayerNorm<7>>);

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) {
    BOOST_TEST(test::layer_error<LayerNorm<7>>(3, 7) < 1e-7);
    BOOST_TEST(test::layer_error<LayerNorm<2>>(2, 2, 1) < 1e-7);
}

BOOST_AUTO_TEST_CASE(at_first_rows_have_mean_0_and_variance_1) {
    std::vector<double> parameters(14);
    RandomStreams streams(1);
    LayerNorm<7>::initialize(std::span<double>(parameters), streams);
    auto input = test::uniform(21, 2);
    for (double& value : input) value = 1e6 + 100 * value;
    std::vector<double> output(21);
    std::vector<double> workspace(LayerNorm<7>::workspace_size(3, 7));
    LayerNorm<7>::forward(ForwardPass<double>{parameters, {input.data(), 3, 7}, {output.data(), 3, 7}, workspace});
    for (std::size_t row = 0; row < 3; ++row) {
        double sum = 0;
        double squares = 0;
        for (std::size_t col = 0; col < 7; ++col) {
            sum += output[row * 7 + col];
            squares += output[row * 7 + col] * output[row * 7 + col];
        }
        BOOST_TEST(std::abs(sum) < 1e-8);
        BOOST_TEST(std::abs(squares / 7 - 1) < 1e-6);
    }
}

}  // namespace
