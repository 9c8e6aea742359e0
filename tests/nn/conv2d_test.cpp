// SPDX-License-Identifier: MIT
#include <lockstep/nn/conv2d.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include <lockstep/nn/linear.hpp>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

using Picture = Image<2, 5, 6>;

static_assert(Layer<Conv2d<Picture, 3, 3>>);
static_assert(Conv2d<Image<1, 28, 28>, 32, 3>::output_image::height == 26);
static_assert(Conv2d<Picture, 3, 3, 2, 1>::output_image::size == 3 * 3 * 3);
static_assert(Conv2d<Picture, 3, 3>::parameter_count == 3 * 2 * 3 * 3 + 3);

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) {
    BOOST_TEST((test::layer_error<Conv2d<Picture, 3, 3>>(3, Picture::size)) < 1e-8);
    BOOST_TEST((test::layer_error<Conv2d<Picture, 2, 2, 2, 1>>(2, Picture::size)) < 1e-8);
    BOOST_TEST((test::layer_error<Conv2d<Picture, 1, 5>>(1, Picture::size)) < 1e-8);
    BOOST_TEST((test::layer_error<Conv2d<Image<1, 1, 1>, 2, 1>>(4, 1)) < 1e-8);
}

BOOST_AUTO_TEST_CASE(a_kernel_as_large_as_the_image_is_a_linear_layer) {
    using Whole = Conv2d<Image<2, 3, 3>, 4, 3>;
    using Flat = Linear<18, 4>;
    static_assert(Whole::parameter_count == Flat::parameter_count);
    const auto parameters = test::uniform(Whole::parameter_count, 1);
    const auto input = test::uniform(5 * 18, 2);
    std::vector<double> workspace(Whole::workspace_size(5, 18));
    std::vector<double> convolved(5 * 4);
    std::vector<double> flat(5 * 4);
    Whole::forward(ForwardPass<double>{parameters, {input.data(), 5, 18}, {convolved.data(), 5, 4}, workspace});
    Flat::forward(ForwardPass<double>{parameters, {input.data(), 5, 18}, {flat.data(), 5, 4}, {}});
    for (std::size_t index = 0; index < flat.size(); ++index)
        BOOST_TEST(std::abs(convolved[index] - flat[index]) < 1e-13);
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_any_batch) {
    using Small = Conv2d<Picture, 3, 3, 1, 1>;
    const auto parameters = test::uniform(Small::parameter_count, 1);
    const auto input = test::uniform(4 * Picture::size, 2);
    std::vector<double> workspace(Small::workspace_size(4, Picture::size));
    constexpr std::size_t size = Small::output_image::size;
    std::vector<double> all(4 * size);
    std::vector<double> last(size);
    Small::forward(ForwardPass<double>{parameters, {input.data(), 4, Picture::size}, {all.data(), 4, size}, workspace});
    Small::forward(ForwardPass<double>{
        parameters, {input.data() + 3 * Picture::size, 1, Picture::size}, {last.data(), 1, size}, workspace});
    BOOST_TEST(std::vector<double>(all.begin() + 3 * size, all.end()) == last);
}

BOOST_AUTO_TEST_CASE(first_values_stay_within_the_bound_of_their_fan_in) {
    using Small = Conv2d<Picture, 3, 3>;
    std::vector<double> parameters(Small::parameter_count);
    RandomStreams streams(1);
    Small::initialize(std::span<double>(parameters), streams);
    double largest = 0;
    for (const double each : parameters) largest = std::max(largest, std::abs(each));
    BOOST_TEST(largest <= 1 / std::sqrt(18.0));
    BOOST_TEST(largest > 0.8 / std::sqrt(18.0));
    Manifest manifest;
    Small::describe("0.", manifest);
    BOOST_TEST(to_string(manifest[0]) == "0.weight (3, 2, 3, 3)");
    BOOST_TEST(to_string(manifest[1]) == "0.bias (3)");
}

}  // namespace
