// SPDX-License-Identifier: MIT
#include <lockstep/nn/linear.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

static_assert(Linear<3, 2>::input_size == 3);
static_assert(Linear<3, 2>::output_size(3) == 2);
static_assert(Linear<3, 2>::parameter_count == 8);

BOOST_AUTO_TEST_CASE(output_by_hand) {
    const std::array<float, 8> parameters{1, 2, 3, 4, 5, 6, 100, 200};  // weight (2, 3), bias (2)
    const std::array<float, 6> input{1, 0, 0, 1, 1, -1};                // (2, 3)
    std::array<float, 4> output{};
    Linear<3, 2>::forward(
        ForwardPass<float>{.parameters = parameters, .input = {input.data(), 2, 3}, .output = {output.data(), 2, 2}});
    BOOST_TEST(output == (std::array<float, 4>{101, 204, 100, 203}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradients_match_central_differences) {
    BOOST_TEST((test::layer_error<Linear<1, 1>>(1, 1) < 1e-8));
    BOOST_TEST((test::layer_error<Linear<3, 5>>(4, 3) < 1e-8));
    BOOST_TEST((test::layer_error<Linear<17, 2>>(7, 17) < 1e-8));
}

BOOST_AUTO_TEST_CASE(first_values_are_the_uniform_stream_of_the_layer) {
    using Layer = Linear<4, 3>;
    std::vector<double> parameters(Layer::parameter_count);
    RandomStreams streams(11);
    Layer::initialize(std::span(parameters), streams);
    Random random(11, RandomStreams::first);
    // 1/sqrt(4) = 0.5
    for (const double parameter : parameters) BOOST_TEST(parameter == random.uniform(-0.5, 0.5));
    BOOST_TEST(streams.next().at(0) == Random(11, RandomStreams::first + 1).at(0));
}

BOOST_AUTO_TEST_CASE(first_values_have_the_right_spread) {
    using Layer = Linear<100, 200>;
    std::vector<float> parameters(Layer::parameter_count);
    RandomStreams streams(1);
    Layer::initialize(std::span(parameters), streams);
    double squares = 0;
    for (const float parameter : parameters) {
        BOOST_REQUIRE(std::abs(parameter) <= 0.1F);
        squares += static_cast<double>(parameter) * static_cast<double>(parameter);
    }
    // Variance bound^2/3; five standard errors of the mean square, each with standard deviation bound^2
    // sqrt(4/45).
    const double count = Layer::parameter_count;
    BOOST_TEST(std::abs(squares / count - 0.01 / 3) < 5 * 0.01 * std::sqrt(4.0 / 45 / count));
}

BOOST_AUTO_TEST_CASE(parameters_are_named_as_in_pytorch) {
    Manifest manifest;
    Linear<3, 2>::describe("4.", manifest);
    BOOST_REQUIRE(manifest.size() == 2U);
    BOOST_TEST(to_string(manifest[0]) == "4.weight (2, 3)");
    BOOST_TEST(to_string(manifest[1]) == "4.bias (2)");
}

}  // namespace
