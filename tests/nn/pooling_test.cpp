// SPDX-License-Identifier: MIT
#include <lockstep/nn/pooling.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

using Picture = Image<2, 5, 6>;

static_assert(Layer<MaxPool2d<Picture, 2>> && Layer<AvgPool2d<Picture, 2>>);
static_assert(MaxPool2d<Picture, 2>::output_image::height == 2 && MaxPool2d<Picture, 2>::output_image::width == 3);

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) {
    BOOST_TEST((test::layer_error<MaxPool2d<Picture, 2>>(3, Picture::size)) < 1e-8);
    BOOST_TEST((test::layer_error<MaxPool2d<Picture, 3, 2>>(2, Picture::size)) < 1e-8);
    BOOST_TEST((test::layer_error<AvgPool2d<Picture, 2>>(3, Picture::size)) < 1e-8);
    BOOST_TEST((test::layer_error<AvgPool2d<Picture, 3, 1>>(2, Picture::size)) < 1e-8);
}

/// Output and input gradient of a pooling of one window of 2 by 2.
template <class Pool>
std::pair<double, std::vector<double>> pool(const std::vector<double>& window) {
    std::vector<double> output(1);
    const std::vector<double> gradient{8};
    std::vector<double> input_gradient(4, 5);
    Pool::forward(ForwardPass<double>{{}, {window.data(), 1, 4}, {output.data(), 1, 1}, {}});
    Pool::backward(BackwardPass<double>{{},
                                        {window.data(), 1, 4},
                                        {output.data(), 1, 1},
                                        {gradient.data(), 1, 1},
                                        {input_gradient.data(), 1, 4},
                                        {},
                                        {}});
    return {output[0], input_gradient};
}

BOOST_AUTO_TEST_CASE(the_first_of_the_largest_gets_the_gradient) {
    using Pool = MaxPool2d<Image<1, 2, 2>, 2>;
    using Gradient = std::vector<double>;
    BOOST_TEST(pool<Pool>({1, 4, 4, 2}).first == 4);
    BOOST_TEST(pool<Pool>({1, 4, 4, 2}).second == Gradient({0, 8, 0, 0}));
    BOOST_TEST(pool<Pool>({-1, -4, -3, -1}).second == Gradient({8, 0, 0, 0}));
    BOOST_TEST((pool<AvgPool2d<Image<1, 2, 2>, 2>>({1, 4, 4, 2}).first == 2.75));
    BOOST_TEST((pool<AvgPool2d<Image<1, 2, 2>, 2>>({1, 4, 4, 2}).second == Gradient({2, 2, 2, 2})));
}

BOOST_AUTO_TEST_CASE(nan_is_not_overlooked) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t place = 0; place < 4; ++place) {
        std::vector<double> window{1, 2, 3, 4};
        window[place] = nan;
        const auto [value, gradient] = pool<MaxPool2d<Image<1, 2, 2>, 2>>(window);
        BOOST_TEST(std::isnan(value));
        BOOST_TEST(gradient[place] == 8);
    }
}

}  // namespace
