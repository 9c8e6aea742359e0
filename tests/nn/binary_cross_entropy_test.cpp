// SPDX-License-Identifier: MIT
#include <lockstep/nn/binary_cross_entropy.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(two_outputs_a_row_are_averaged) {
    const std::array<double, 4> outputs{0, std::log(3.0), -std::log(3.0), 0};
    const std::array<double, 4> targets{1, 1, 0.5, 0};
    std::array<double, 4> gradient{};
    const MatrixView<const double> output(outputs.data(), 2, 2);
    const MatrixView<const double> target(targets.data(), 2, 2);
    const LossSum loss = BinaryCrossEntropy::backward(output, target, MatrixView<double>(gradient.data(), 2, 2));
    // Probabilities 1/2, 3/4, 1/4, 1/2.
    const double expected =
        -(std::log(0.5) + std::log(0.75) + (std::log(0.25) + std::log(0.75)) / 2 + std::log(0.5)) / 2;
    BOOST_TEST(std::abs(loss.sum - expected) < 1e-15);
    BOOST_TEST(loss.weight == 2);
    const std::array<double, 4> by_hand{-0.25, -0.125, -0.125, 0.25};
    for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(gradient[i] - by_hand[i]) < 1e-16);
    BOOST_TEST(BinaryCrossEntropy::evaluate(output, target).sum == loss.sum);
}

BOOST_AUTO_TEST_CASE(far_outputs_are_exact) {
    const std::array<double, 6> outputs{1e4, 1e4, -1e4, -1e4, 50, -50};
    const std::array<double, 6> targets{1, 0, 1, 0, 1, 0};
    std::array<double, 6> gradient{};
    std::array<double, 6> losses{};
    for (std::size_t i = 0; i < 6; ++i) {
        losses[i] = BinaryCrossEntropy::backward(MatrixView<const double>(&outputs[i], 1, 1),
                                                 MatrixView<const double>(&targets[i], 1, 1),
                                                 MatrixView<double>(&gradient[i], 1, 1))
                        .sum;
    }
    const double tiny = std::exp(-50.0);
    const std::array<double, 6> right_losses{0, 1e4, 1e4, 0, tiny, tiny};
    const std::array<double, 6> right_gradient{0, 1, -1, 0, -tiny, tiny};
    for (std::size_t i = 0; i < 6; ++i) {
        BOOST_TEST(std::abs(losses[i] - right_losses[i]) <= 1e-15 * right_losses[i]);
        BOOST_TEST(std::abs(gradient[i] - right_gradient[i]) <= 1e-15 * std::abs(right_gradient[i]));
    }
}

BOOST_AUTO_TEST_CASE(gradient_matches_central_differences) {
    std::vector<double> outputs = test::uniform(15, 1, -3, 3);
    const std::vector<double> targets = test::uniform(15, 2, 0, 1);
    std::vector<double> gradient(15);
    const MatrixView<const double> output(outputs.data(), 5, 3);
    const MatrixView<const double> target(targets.data(), 5, 3);
    BinaryCrossEntropy::backward(output, target, MatrixView<double>(gradient.data(), 5, 3));
    BOOST_TEST(test::gradient_error(outputs, gradient,
                                    [&] { return BinaryCrossEntropy::evaluate(output, target).sum; }) < 1e-8);
}

BOOST_AUTO_TEST_CASE(a_target_that_is_no_probability_is_named_before_anything_is_written) {
    const std::array<float, 4> outputs{};
    std::array<float, 4> gradient{9, 9, 9, 9};
    const MatrixView<const float> output(outputs.data(), 2, 2);
    const auto refuses = [&](std::array<float, 4> targets, const std::string& text) {
        const MatrixView<const float> target(targets.data(), 2, 2);
        const auto says = [&](const ShapeError& error) {
            return error.what() == "BinaryCrossEntropy: the target of " + text;
        };
        BOOST_CHECK_EXCEPTION(BinaryCrossEntropy::backward(output, target, MatrixView<float>(gradient.data(), 2, 2)),
                              ShapeError, says);
        BOOST_CHECK_EXCEPTION(BinaryCrossEntropy::evaluate(output, target), ShapeError, says);
        for (const float value : gradient) BOOST_TEST(value == 9);
    };
    refuses({0, 1, 1.5F, 0}, "row 1, column 0 is 1.5, not in [0, 1]");
    refuses({0, -0.1F, 1, 0}, "row 0, column 1 is -0.1, not in [0, 1]");
    refuses({0, 0, 0, std::numeric_limits<float>::quiet_NaN()}, "row 1, column 1 is nan, not in [0, 1]");
    BOOST_CHECK_THROW(BinaryCrossEntropy::evaluate(output, MatrixView<const float>(outputs.data(), 2, 1)), ShapeError);
}

}  // namespace
