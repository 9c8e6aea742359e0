// SPDX-License-Identifier: MIT
#include <lockstep/nn/huber.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <ratio>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(loss_and_gradient_by_hand) {
    const std::array<float, 4> outputs{1, 2, 3, 4};
    const std::array<float, 4> targets{0.5, 2, 8, 1};
    std::array<float, 4> gradient{9, 9, 9, 9};
    const MatrixView<const float> output(outputs.data(), 2, 2);
    const MatrixView<const float> target(targets.data(), 2, 2);
    // Distances 1/2, 0, 5, 3 with delta 1: (1/8 + 0)/2 + (4.5 + 2.5)/2.
    const LossSum loss = Huber<>::backward(output, target, MatrixView<float>(gradient.data(), 2, 2));
    BOOST_TEST(loss.sum == 3.5625);
    BOOST_TEST(loss.weight == 2);
    BOOST_TEST(gradient == (std::array<float, 4>{0.25, 0, -0.5, 0.5}), boost::test_tools::per_element());
    BOOST_TEST(Huber<>::evaluate(output, target).sum == 3.5625);
    // With delta 4 only the 5 is beyond: (1/8 + 0)/2 + (4 (5 - 2) + 9/2)/2.
    BOOST_TEST(Huber<std::ratio<4>>::evaluate(output, target).sum == 8.3125);
}

BOOST_AUTO_TEST_CASE(gradient_matches_central_differences_on_both_sides_of_delta) {
    std::vector<double> outputs = test::uniform(30, 1, -2, 2);
    const std::vector<double> targets = test::uniform(30, 2, -2, 2);
    std::vector<double> gradient(30);
    const MatrixView<const double> output(outputs.data(), 10, 3);
    const MatrixView<const double> target(targets.data(), 10, 3);
    using Criterion = Huber<std::ratio<3, 4>>;
    Criterion::backward(output, target, MatrixView<double>(gradient.data(), 10, 3));
    BOOST_TEST(test::gradient_error(outputs, gradient, [&] { return Criterion::evaluate(output, target).sum; }) < 1e-8);
}

BOOST_AUTO_TEST_CASE(an_output_that_is_nan_stays_one_and_a_target_is_refused) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::array<float, 2> values{nan, 1};
    float gradient = 9;
    const MatrixView<const float> bad(values.data(), 1, 1);
    const MatrixView<const float> good(&values[1], 1, 1);
    const MatrixView<float> written(&gradient, 1, 1);
    const auto says = [](const ShapeError& error) {
        return std::string(error.what()) == "Huber: the target of row 0, column 0 is nan, not a finite number";
    };
    BOOST_CHECK_EXCEPTION(Huber<>::backward(good, bad, written), ShapeError, says);
    BOOST_TEST(gradient == 9);
    BOOST_TEST(std::isnan(Huber<>::backward(bad, good, written).sum));
    BOOST_TEST(std::isnan(gradient));
}

}  // namespace
