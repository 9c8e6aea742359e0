// SPDX-License-Identifier: MIT
#include <lockstep/nn/flatten.hpp>

#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/nn/sequential.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

static_assert(Layer<Flatten> && Layer<Flatten, double>);
static_assert(Flatten::output_size(7) == 7);

BOOST_AUTO_TEST_CASE(rows_and_gradients_go_through_unchanged) {
    BOOST_TEST(test::layer_error<Flatten>(3, 7) < 1e-8);
    const std::vector<double> input{1, 2, 3, 4, 5, 6};
    std::vector<double> output(4);
    // A gap after each row.
    Flatten::forward(ForwardPass<double>{{}, {input.data(), 2, 2, 3, 1}, {output.data(), 2, 2}, {}});
    BOOST_TEST(output == (std::vector<double>{1, 2, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(it_takes_a_number_between_an_image_and_a_linear) {
    using Pool = MaxPool2d<Image<1, 4, 4>, 2>;
    using Layers = Sequential<Pool, Flatten, Linear<4, 3>>;
    static_assert(Layers::input_size == 16 && Layers::output_size(16) == 3);
    Manifest manifest;
    Layers::describe("", manifest);
    BOOST_TEST(manifest.front().name == "2.weight");
    BOOST_TEST(test::layer_error<Layers>(2, 16) < 1e-8);
}

}  // namespace
