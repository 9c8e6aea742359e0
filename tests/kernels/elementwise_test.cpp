// SPDX-License-Identifier: MIT
#include <lockstep/kernels/elementwise.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

namespace kernels = lockstep::kernels;

using Scalars = boost::mpl::list<float, double>;

/// Numbers of both signs and some zeros; every length has whole vectors and a rest.
template <class Scalar>
std::vector<Scalar> numbers(std::size_t count, int offset) {
    std::vector<Scalar> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<Scalar>((static_cast<int>(i) * 7 + offset) % 11 - 5) / Scalar{4};
    }
    return values;
}

constexpr std::size_t longest = 37;

BOOST_AUTO_TEST_CASE_TEMPLATE(scale_and_add_match_plain_loops, Scalar, Scalars) {
    for (std::size_t count = 0; count <= longest; ++count) {
        const auto values = numbers<Scalar>(count, 1);
        const auto before = numbers<Scalar>(count, 4);
        auto scaled = before;
        kernels::scale(Scalar{3}, std::span(scaled));
        auto sum = before;
        kernels::add(std::span(values), std::span(sum));
        auto weighted = before;
        kernels::add_scaled(Scalar{-2}, std::span(values), std::span(weighted));
        // Quarters of small integers: all sums and products are exact.
        for (std::size_t i = 0; i < count; ++i) {
            BOOST_TEST(scaled[i] == 3 * before[i]);
            BOOST_TEST(sum[i] == before[i] + values[i]);
            BOOST_TEST(weighted[i] == before[i] - 2 * values[i]);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(relu_and_its_derivative, Scalar, Scalars) {
    for (std::size_t count = 0; count <= longest; ++count) {
        const auto input = numbers<Scalar>(count, 0);
        const auto gradient = numbers<Scalar>(count, 2);
        std::vector<Scalar> output(count, Scalar{99});
        std::vector<Scalar> input_gradient(count, Scalar{99});
        kernels::relu(std::span(input), std::span(output));
        kernels::relu_backward(std::span(output), std::span(gradient), std::span(input_gradient));
        for (std::size_t i = 0; i < count; ++i) {
            BOOST_TEST(output[i] == (input[i] > 0 ? input[i] : Scalar{0}));
            BOOST_TEST(input_gradient[i] == (input[i] > 0 ? gradient[i] : Scalar{0}));
        }
    }
}

BOOST_AUTO_TEST_CASE(relu_does_not_hide_a_nan) {
    std::vector<float> values(5, std::numeric_limits<float>::quiet_NaN());
    kernels::relu(std::span<const float>(values), std::span(values));
    for (const float value : values) BOOST_TEST(std::isnan(value));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(tanh_and_its_derivative, Scalar, Scalars) {
    const Scalar tolerance = 8 * std::numeric_limits<Scalar>::epsilon();
    for (std::size_t count = 0; count <= longest; ++count) {
        const auto input = numbers<Scalar>(count, 0);
        const auto gradient = numbers<Scalar>(count, 2);
        std::vector<Scalar> output(count);
        std::vector<Scalar> input_gradient(count);
        kernels::tanh(std::span(input), std::span(output));
        kernels::tanh_backward(std::span(output), std::span(gradient), std::span(input_gradient));
        for (std::size_t i = 0; i < count; ++i) {
            // tanh x = 1 - 2 / (e^2x + 1), tanh' x = 1 / cosh^2 x
            BOOST_TEST(std::abs(output[i] - (1 - 2 / (std::exp(2 * input[i]) + 1))) <= tolerance);
            const Scalar cosh = std::cosh(input[i]);
            BOOST_TEST(std::abs(input_gradient[i] - gradient[i] / (cosh * cosh)) <= tolerance);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sigmoid_and_its_derivative, Scalar, Scalars) {
    const Scalar tolerance = 8 * std::numeric_limits<Scalar>::epsilon();
    for (std::size_t count = 0; count <= longest; ++count) {
        const auto input = numbers<Scalar>(count, 0);
        const auto gradient = numbers<Scalar>(count, 2);
        std::vector<Scalar> output(count);
        std::vector<Scalar> input_gradient(count);
        kernels::sigmoid(std::span(input), std::span(output));
        kernels::sigmoid_backward(std::span(output), std::span(gradient), std::span(input_gradient));
        for (std::size_t i = 0; i < count; ++i) {
            // sigmoid x = (1 + tanh(x/2)) / 2, sigmoid' x = 1 / (4 cosh^2(x/2))
            BOOST_TEST(std::abs(output[i] - (1 + std::tanh(input[i] / 2)) / 2) <= tolerance);
            const Scalar cosh = std::cosh(input[i] / 2);
            BOOST_TEST(std::abs(input_gradient[i] - gradient[i] / (4 * cosh * cosh)) <= tolerance);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sigmoid_is_stable_far_out, Scalar, Scalars) {
    const std::vector<Scalar> input{-10'000, -50, 0, 50, 10'000};
    std::vector<Scalar> output(input.size());
    kernels::sigmoid(std::span(input), std::span(output));
    BOOST_TEST(output[0] == 0);
    // Far to the left sigmoid x = e^x (1 - e^x + ...): the small value keeps its relative precision.
    BOOST_TEST(std::abs(output[1] / std::exp(Scalar{-50}) - 1) < 4 * std::numeric_limits<Scalar>::epsilon());
    BOOST_TEST(output[2] == Scalar{0.5});
    BOOST_TEST(output[3] == 1);
    BOOST_TEST(output[4] == 1);
}

BOOST_AUTO_TEST_CASE(kernels_work_in_place) {
    auto values = numbers<float>(longest, 0);
    const auto before = values;
    kernels::relu(std::span<const float>(values), std::span(values));
    for (std::size_t i = 0; i < longest; ++i) BOOST_TEST(values[i] == (before[i] > 0 ? before[i] : 0.0F));
    values = before;
    kernels::add(std::span<const float>(values), std::span(values));
    for (std::size_t i = 0; i < longest; ++i) BOOST_TEST(values[i] == 2 * before[i]);
}

}  // namespace
