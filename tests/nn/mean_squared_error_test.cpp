// SPDX-License-Identifier: MIT
#include <lockstep/nn/mean_squared_error.hpp>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(loss_and_gradient_by_hand) {
    const std::array<float, 4> outputs{1, 2, 3, 4};
    const std::array<float, 4> targets{0, 2, 5, 1};
    std::array<float, 4> gradient{9, 9, 9, 9};
    const MatrixView<const float> output(outputs.data(), 2, 2);
    const MatrixView<const float> target(targets.data(), 2, 2);
    // (1 + 0)/2 + (4 + 9)/2; its mean over rows, 3.5, is the mean of all four squares.
    const LossSum loss = MeanSquaredError::backward(output, target, MatrixView<float>(gradient.data(), 2, 2));
    BOOST_TEST(loss.sum == 7);
    BOOST_TEST(loss.weight == 2);
    BOOST_TEST(gradient == (std::array<float, 4>{1, 0, -2, 3}), boost::test_tools::per_element());
    BOOST_TEST(MeanSquaredError::evaluate(output, target).sum == 7);
}

BOOST_AUTO_TEST_CASE(gradient_matches_central_differences) {
    std::vector<double> outputs = test::uniform(15, 1);
    const std::vector<double> targets = test::uniform(15, 2);
    std::vector<double> gradient(15);
    const MatrixView<const double> target(targets.data(), 5, 3);
    MeanSquaredError::backward(MatrixView<const double>(outputs.data(), 5, 3), target,
                               MatrixView<double>(gradient.data(), 5, 3));
    BOOST_TEST(test::gradient_error(outputs, gradient, [&] {
                   return MeanSquaredError::evaluate(MatrixView<const double>(outputs.data(), 5, 3), target).sum;
               }) < 1e-8);
}

BOOST_AUTO_TEST_CASE(targets_of_another_shape_are_refused_before_anything_is_written) {
    const std::array<float, 4> values{1, 2, 3, 4};
    std::array<float, 4> gradient{9, 9, 9, 9};
    const MatrixView<const float> output(values.data(), 2, 2);
    const auto says = [](const ShapeError& error) {
        return std::string(error.what()) == "MeanSquaredError: targets of shape (2, 1) for outputs of shape (2, 2)";
    };
    const MatrixView<const float> narrow(values.data(), 2, 1);
    BOOST_CHECK_EXCEPTION(MeanSquaredError::backward(output, narrow, MatrixView<float>(gradient.data(), 2, 2)),
                          ShapeError, says);
    BOOST_CHECK_EXCEPTION(MeanSquaredError::evaluate(output, narrow), ShapeError, says);
    BOOST_CHECK_THROW(MeanSquaredError::evaluate(output, output.slice({.begin = 0, .size = 1})), ShapeError);
    for (const float value : gradient) BOOST_TEST(value == 9);
}

BOOST_AUTO_TEST_CASE(a_target_that_is_not_finite_is_named_before_anything_is_written) {
    const std::array<float, 4> outputs{1, 2, 3, 4};
    std::array<float, 4> gradient{9, 9, 9, 9};
    const MatrixView<const float> output(outputs.data(), 2, 2);
    const auto refuses = [&](std::array<float, 4> targets, const std::string& text) {
        const MatrixView<const float> target(targets.data(), 2, 2);
        const auto says = [&](const ShapeError& error) {
            return error.what() == "MeanSquaredError: the target of " + text;
        };
        BOOST_CHECK_EXCEPTION(MeanSquaredError::backward(output, target, MatrixView<float>(gradient.data(), 2, 2)),
                              ShapeError, says);
        BOOST_CHECK_EXCEPTION(MeanSquaredError::evaluate(output, target), ShapeError, says);
        for (const float value : gradient) BOOST_TEST(value == 9);
    };
    using Limits = std::numeric_limits<float>;
    refuses({0, 0, 0, Limits::quiet_NaN()}, "row 1, column 1 is nan, not a finite number");
    refuses({0, -Limits::infinity(), 0, 0}, "row 0, column 1 is -inf, not a finite number");
}

BOOST_AUTO_TEST_CASE(no_rows_weigh_nothing) {
    const LossSum loss = MeanSquaredError::evaluate(MatrixView<const float>(), MatrixView<const float>());
    BOOST_TEST(loss.sum == 0);
    BOOST_TEST(loss.weight == 0);
}

}  // namespace
