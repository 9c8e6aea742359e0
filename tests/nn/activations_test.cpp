// SPDX-License-Identifier: MIT
#include <lockstep/nn/activations.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

static_assert(Relu::input_size == any_size && Relu::output_size(7) == 7 && Relu::parameter_count == 0);

BOOST_AUTO_TEST_CASE(values_at_known_points) {
    const std::array<double, 3> input{-std::log(3.0), 0, std::log(3.0)};
    std::array<double, 3> output{};
    const ForwardPass<double> pass{.input = {input.data(), 1, 3}, .output = {output.data(), 1, 3}};
    Relu::forward(pass);
    BOOST_TEST(output == (std::array<double, 3>{0, 0, std::log(3.0)}), boost::test_tools::per_element());
    Tanh::forward(pass);  // tanh(log 3) = (9 - 1) / (9 + 1)
    BOOST_TEST(std::abs(output[0] + 0.8) < 1e-15);
    BOOST_TEST(output[1] == 0);
    BOOST_TEST(std::abs(output[2] - 0.8) < 1e-15);
    Sigmoid::forward(pass);  // 1 / (1 + 1/3)
    BOOST_TEST(std::abs(output[0] - 0.25) < 1e-15);
    BOOST_TEST(output[1] == 0.5);
    BOOST_TEST(std::abs(output[2] - 0.75) < 1e-15);
}

BOOST_AUTO_TEST_CASE(gradients_match_central_differences) {
    // Relu has a kink at 0, which differences must not straddle.
    BOOST_TEST(test::layer_error<Relu>(3, 5, 0.1) < 1e-8);
    BOOST_TEST(test::layer_error<Tanh>(3, 5) < 1e-8);
    BOOST_TEST(test::layer_error<Sigmoid>(3, 5) < 1e-8);
    BOOST_TEST(test::layer_error<LeakyRelu>(3, 5, 0.1) < 1e-8);
    BOOST_TEST(test::layer_error<Gelu>(3, 5) < 1e-8);
}

BOOST_AUTO_TEST_CASE(rows_with_gaps_give_the_same_and_keep_the_gaps) {
    const std::array<float, 8> input{-1, 2, 77, 77, 3, -4, 77, 77};
    std::array<float, 6> output{9, 9, 9, 9, 9, 9};
    Relu::forward(ForwardPass<float>{.input = {input.data(), 2, 2, 4, 1}, .output = {output.data(), 2, 2, 3, 1}});
    BOOST_TEST(output == (std::array<float, 6>{0, 2, 9, 3, 0, 9}), boost::test_tools::per_element());
}

}  // namespace
