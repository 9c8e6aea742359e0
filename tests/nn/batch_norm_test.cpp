// SPDX-License-Identifier: MIT
#include <lockstep/nn/batch_norm.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;
using OfTwo = BatchNorm<Features<2>>;

static_assert(Layer<OfTwo> && Layer<BatchNorm<Image<3, 4, 5>, Statistics::local>, double>);
static_assert(OfTwo::traits.sums_over_ranks && !OfTwo::traits.local_buffers);
static_assert(BatchNorm<Features<2>, Statistics::local>::traits.local_buffers);

struct Rows {
    std::vector<double> input;
    std::vector<double> parameters = std::vector<double>(4);
    std::vector<double> buffers = std::vector<double>(4);
    std::vector<double> output = std::vector<double>(input.size());

    explicit Rows(std::vector<double> values) : input(std::move(values)) {
        RandomStreams streams(1);
        OfTwo::initialize(std::span<double>(parameters), streams);
        OfTwo::initialize_buffers(std::span<double>(buffers));
    }
    void forward(bool in_training) {
        std::vector<double> workspace(OfTwo::workspace_size(input.size() / 2, 2));
        OfTwo::forward(ForwardPass<double>{.parameters = parameters,
                                           .input = {input.data(), input.size() / 2, 2},
                                           .output = {output.data(), input.size() / 2, 2},
                                           .workspace = workspace,
                                           .buffers = buffers,
                                           .context = {.training = in_training}});
    }
};

void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
    BOOST_REQUIRE(values.size() == expected.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
        BOOST_TEST(std::abs(values[index] - expected[index]) < 1e-14, index << ": " << values[index]);
    }
}

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) {
    BOOST_TEST((test::layer_error<BatchNorm<Features<5>>>(4, 5) < 1e-7));
    BOOST_TEST((test::layer_error<BatchNorm<Image<2, 3, 2>>>(3, 12) < 1e-7));
    BOOST_TEST((test::layer_error<BatchNorm<Image<2, 3, 2>, Statistics::local>>(1, 12) < 1e-7));
}

// Channel 0: 1, 3: mean 2, variance 1, unbiased 2. Channel 1: 10, 30: mean 20, variance 100, unbiased 200.
BOOST_AUTO_TEST_CASE(channels_get_mean_0_and_variance_1_and_statistics_run_along) {
    Rows rows({1, 10, 3, 30});
    rows.parameters = {2, 1, 0, 5};
    rows.forward(true);
    const double small = 1 / std::sqrt(1 + 1e-5);
    const double large = 10 / std::sqrt(100 + 1e-5);
    expect_near(rows.output, {-2 * small, 5 - large, 2 * small, 5 + large});
    expect_near(rows.buffers, {0.2, 2, 0.9 + 0.2, 0.9 + 20});
    rows.forward(true);
    expect_near(rows.buffers, {0.38, 3.8, 0.9 * 1.1 + 0.2, 0.9 * 20.9 + 20});
}

BOOST_AUTO_TEST_CASE(outside_of_training_the_running_statistics_are_used_and_stay) {
    Rows rows({1, 10, 3, 30});
    rows.buffers = {1, 0, 4, 25};
    rows.forward(false);
    const double first = 1 / std::sqrt(4 + 1e-5);
    const double second = 1 / std::sqrt(25 + 1e-5);
    expect_near(rows.output, {0, 10 * second, 2 * first, 30 * second});
    expect_near(rows.buffers, {1, 0, 4, 25});
}

// A mean of 1e6 with distances of 1 would lose all in a sum of squares.
BOOST_AUTO_TEST_CASE(far_from_0_the_variance_is_exact) {
    Rows rows({1e6, 1, 1e6 + 2, 1});
    rows.forward(true);
    expect_near({rows.buffers[2], rows.buffers[3]}, {0.9 + 0.2, 0.9});
}

BOOST_AUTO_TEST_CASE(one_number_a_channel_is_an_error_in_training_only) {
    Rows rows({1, 10});
    BOOST_CHECK_EXCEPTION(rows.forward(true), ShapeError, [](const ShapeError& error) {
        return std::string(error.what()).find("has no variance") != std::string::npos;
    });
    expect_near(rows.buffers, {0, 0, 1, 1});
    rows.forward(false);
    Rows none({});
    none.forward(true);
    expect_near(none.buffers, {0, 0, 1, 1});
}

BOOST_AUTO_TEST_CASE(parameters_and_buffers_are_named_as_in_pytorch) {
    Manifest parameters;
    Manifest buffers;
    OfTwo::describe("1.", parameters);
    OfTwo::describe_buffers("1.", buffers);
    BOOST_TEST(to_string(parameters[0]) + to_string(parameters[1]) == "1.weight (2)1.bias (2)");
    BOOST_TEST(to_string(buffers[0]) + to_string(buffers[1]) == "1.running_mean (2)1.running_var (2)");
}

}  // namespace
