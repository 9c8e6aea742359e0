// SPDX-License-Identifier: MIT
#include <lockstep/nn/residual.hpp>

#include <cstddef>
#include <vector>

#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

using Block = Residual<Linear<5, 5>, Tanh>;
static_assert(Layer<Block>);

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) {
    BOOST_TEST(test::layer_error<Block>(3, 5) < 1e-8);
    BOOST_TEST((test::layer_error<Residual<Linear<4, 6>, Tanh, Linear<6, 4>>>(3, 4)) < 1e-8);
    BOOST_TEST((test::layer_error<Sequential<Block, Block, Linear<5, 2>>>(2, 5)) < 1e-8);
    BOOST_TEST((test::layer_error<Residual<Block, Sigmoid>>(2, 5)) < 1e-8);
}

BOOST_AUTO_TEST_CASE(a_branch_of_zeros_is_the_identity) {
    const std::vector<double> parameters(Block::parameter_count);
    const auto input = test::uniform(10, 1);
    std::vector<double> output(10);
    std::vector<double> workspace(Block::workspace_size(2, 5));
    Block::forward(ForwardPass<double>{parameters, {input.data(), 2, 5}, {output.data(), 2, 5}, workspace});
    BOOST_TEST(output == input);
    Manifest manifest;
    Block::describe("3.", manifest);
    BOOST_TEST(to_string(manifest.at(0)) == "3.0.weight (5, 5)");
}

}  // namespace
