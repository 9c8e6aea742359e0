// SPDX-License-Identifier: MIT
#include <lockstep/nn/cross_entropy.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

using Labels = std::span<const std::int32_t>;

BOOST_AUTO_TEST_CASE(equal_logits_cost_the_logarithm_of_the_number_of_classes) {
    const std::array<double, 4> logits{3, 3, 3, 3};
    std::array<double, 4> gradient{};
    const std::array<std::int32_t, 1> label{1};
    const LossSum loss = CrossEntropy::backward(MatrixView<const double>(logits.data(), 1, 4), label,
                                                MatrixView<double>(gradient.data(), 1, 4));
    BOOST_TEST(std::abs(loss.sum - std::log(4.0)) < 1e-14);
    BOOST_TEST(loss.weight == 1);
    BOOST_TEST(gradient == (std::array<double, 4>{0.25, -0.75, 0.25, 0.25}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(two_classes_are_the_logistic_loss) {
    for (const double difference : {-30.0, -2.0, 0.0, 0.5, 30.0}) {
        const std::array<double, 2> logits{1, 1 + difference};
        const std::array<std::int32_t, 1> label{1};
        const double loss = CrossEntropy::evaluate(MatrixView<const double>(logits.data(), 1, 2), label).sum;
        BOOST_TEST(std::abs(loss - std::log1p(std::exp(-difference))) < 1e-14 * (1 + std::abs(difference)));
    }
}

using Scalars = boost::mpl::list<float, double>;
BOOST_AUTO_TEST_CASE_TEMPLATE(far_logits_are_exact, Scalar, Scalars) {
    const std::array<Scalar, 9> logits{1e4, -1e4, 0, 1e4, -1e4, 0, -1e4, -1e4, -1e4};
    const std::array<std::int32_t, 3> labels{0, 1, 2};
    std::array<Scalar, 9> gradient{};
    const MatrixView<const Scalar> view(logits.data(), 3, 3);
    const LossSum loss = CrossEntropy::backward(view, labels, MatrixView<Scalar>(gradient.data(), 3, 3));
    // 0 where the largest is right, the distance to it where it is wrong, log 3 where all are equal.
    BOOST_TEST(std::abs(loss.sum - (0 + 20'000 + std::log(3.0))) < 1e-10);
    BOOST_TEST(CrossEntropy::evaluate(view, labels).sum == loss.sum);
    const std::array<Scalar, 6> far{0, 0, 0, 1, -1, 0};
    for (std::size_t i = 0; i < far.size(); ++i) BOOST_TEST(gradient[i] == far[i]);
    const double third = 1.0 / 3;
    BOOST_TEST(std::abs(static_cast<double>(gradient[6]) - third) < 1e-7);
    BOOST_TEST(std::abs(static_cast<double>(gradient[7]) - third) < 1e-7);
    BOOST_TEST(std::abs(static_cast<double>(gradient[8]) + 2 * third) < 1e-7);
}

BOOST_AUTO_TEST_CASE(gradient_matches_central_differences) {
    std::vector<double> logits = test::uniform(24, 1, -3, 3);
    std::vector<double> gradient(24);
    const std::array<std::int32_t, 6> labels{0, 3, 1, 1, 2, 0};
    CrossEntropy::backward(MatrixView<const double>(logits.data(), 6, 4), labels,
                           MatrixView<double>(gradient.data(), 6, 4));
    BOOST_TEST(test::gradient_error(logits, gradient, [&] {
                   return CrossEntropy::evaluate(MatrixView<const double>(logits.data(), 6, 4), Labels(labels)).sum;
               }) < 1e-8);
}

BOOST_AUTO_TEST_CASE(a_label_out_of_range_is_named_before_anything_is_written) {
    const std::array<float, 6> logits{};
    std::array<float, 6> gradient{9, 9, 9, 9, 9, 9};
    const MatrixView<const float> view(logits.data(), 3, 2);
    const auto refuses = [&](std::vector<std::int32_t> labels, const std::string& text) {
        const auto says = [&](const ShapeError& error) { return error.what() == text; };
        BOOST_CHECK_EXCEPTION(CrossEntropy::backward(view, labels, MatrixView<float>(gradient.data(), 3, 2)),
                              ShapeError, says);
        BOOST_CHECK_EXCEPTION(CrossEntropy::evaluate(view, labels), ShapeError, says);
        for (const float value : gradient) BOOST_TEST(value == 9);
    };
    refuses({0, 1, 2}, "CrossEntropy: the label of row 2 is 2, outside [0, 2)");
    refuses({0, -1, 1}, "CrossEntropy: the label of row 1 is -1, outside [0, 2)");
    refuses({0, 1}, "CrossEntropy: 2 labels for 3 rows");
}

BOOST_AUTO_TEST_CASE(no_rows_weigh_nothing) {
    const LossSum loss = CrossEntropy::evaluate(MatrixView<const float>(), Labels());
    BOOST_TEST(loss.sum == 0);
    BOOST_TEST(loss.weight == 0);
}

}  // namespace
