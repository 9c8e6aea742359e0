// SPDX-License-Identifier: MIT
#include <lockstep/nn/softmax.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

static_assert(Layer<Softmax>);

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) { BOOST_TEST(test::layer_error<Softmax>(3, 7) < 1e-8); }

BOOST_AUTO_TEST_CASE(rows_are_distributions_however_large_the_numbers) {
    const std::vector<double> input{1000, 1000, -1000, 0, 0, 0};
    std::vector<double> output(6);
    Softmax::forward(ForwardPass<double>{{}, {input.data(), 2, 3}, {output.data(), 2, 3}, {}});
    BOOST_TEST(output[0] == 0.5);
    BOOST_TEST(output[1] == 0.5);
    BOOST_TEST(output[2] == 0.0);
    for (std::size_t index = 3; index < 6; ++index) BOOST_TEST(std::abs(output[index] - 1.0 / 3) < 1e-15);
}

}  // namespace
