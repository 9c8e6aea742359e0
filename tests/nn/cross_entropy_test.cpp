// SPDX-License-Identifier: MIT
#include <lockstep/nn/cross_entropy.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ratio>
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

constexpr std::int32_t no_one = -100;
using Masked = CrossEntropyWith<std::ratio<0>, no_one>;
using Smoothed = CrossEntropyWith<std::ratio<1, 10>>;
using Both = CrossEntropyWith<std::ratio<1, 4>, 1>;

template <class Criterion>
double difference_error(std::array<std::int32_t, 6> labels) {
    std::vector<double> logits = test::uniform(24, 1, -3, 3);
    std::vector<double> gradient(24, 9);
    const MatrixView<const double> view(logits.data(), 6, 4);
    const LossSum loss = Criterion::backward(view, labels, MatrixView<double>(gradient.data(), 6, 4));
    const LossSum same = Criterion::evaluate(view, Labels(labels));
    if (loss.sum != same.sum || loss.weight != same.weight) return HUGE_VAL;
    return test::gradient_error(logits, gradient, [&] { return Criterion::evaluate(view, Labels(labels)).sum; });
}

BOOST_AUTO_TEST_CASE(gradients_of_smoothed_and_ignored_labels_match_central_differences) {
    BOOST_TEST(difference_error<Masked>({0, 3, no_one, 1, 2, no_one}) < 1e-8);
    BOOST_TEST(difference_error<Smoothed>({0, 3, 1, 1, 2, 0}) < 1e-8);
    BOOST_TEST(difference_error<Both>({0, 3, 1, 1, 2, 0}) < 1e-8);
}

BOOST_AUTO_TEST_CASE(an_ignored_row_has_no_loss_no_weight_and_no_gradient_whatever_its_logits) {
    const float infinite = std::numeric_limits<float>::infinity();
    const std::array<float, 6> logits{1, 1, infinite, -infinite, 2, 2};
    std::array<float, 6> gradient{9, 9, 9, 9, 9, 9};
    const MatrixView<const float> view(logits.data(), 3, 2);
    const MatrixView<float> written(gradient.data(), 3, 2);
    const LossSum loss = Masked::backward(view, std::array<std::int32_t, 3>{0, no_one, 1}, written);
    BOOST_TEST(loss.weight == 2);
    BOOST_TEST(std::abs(loss.sum - 2 * std::log(2.0)) < 1e-14);
    BOOST_TEST(gradient == (std::array<float, 6>{-0.5, 0.5, 0, 0, 0.5, -0.5}), boost::test_tools::per_element());

    const std::array<std::int32_t, 3> all{no_one, no_one, no_one};
    const LossSum none = Masked::backward(view, all, written);
    BOOST_TEST((none.weight == 0 && none.sum == 0));
    for (const float value : gradient) BOOST_TEST(value == 0);
    BOOST_TEST(Masked::evaluate(view, all).weight == 0);
}

BOOST_AUTO_TEST_CASE(labels_smoothed_to_the_end_are_all_alike) {
    const std::array<double, 3> logits{1, 2, 6};
    using Uniform = CrossEntropyWith<std::ratio<1>>;
    std::array<double, 3> losses{};
    for (std::int32_t label = 0; label < 3; ++label) {
        const std::array<std::int32_t, 1> labels{label};
        losses[static_cast<std::size_t>(label)] =
            Uniform::evaluate(MatrixView<const double>(logits.data(), 1, 3), labels).sum;
    }
    // log(sum of exp) less the mean logit.
    const double expected = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(6.0)) - 3;
    for (const double loss : losses) BOOST_TEST(std::abs(loss - expected) < 1e-14);
}

BOOST_AUTO_TEST_CASE(only_the_label_to_ignore_is_ignored) {
    const std::array<float, 4> logits{};
    const MatrixView<const float> view(logits.data(), 2, 2);
    const auto says = [](const std::string& text) {
        return [text](const ShapeError& error) { return error.what() == text; };
    };
    BOOST_CHECK_EXCEPTION(Masked::evaluate(view, std::array<std::int32_t, 2>{no_one, -99}), ShapeError,
                          says("CrossEntropy: the label of row 1 is -99, outside [0, 2)"));
    BOOST_CHECK_EXCEPTION(CrossEntropy::evaluate(view, std::array<std::int32_t, 2>{0, no_one}), ShapeError,
                          says("CrossEntropy: the label of row 1 is -100, outside [0, 2)"));
    BOOST_CHECK_EXCEPTION(CrossEntropy::evaluate(view, std::array<std::int32_t, 2>{no_label, 0}), ShapeError,
                          says("CrossEntropy: the label of row 0 is -2147483648, outside [0, 2)"));
}

BOOST_AUTO_TEST_CASE(no_rows_weigh_nothing) {
    const LossSum loss = CrossEntropy::evaluate(MatrixView<const float>(), Labels());
    BOOST_TEST(loss.sum == 0);
    BOOST_TEST(loss.weight == 0);
}

}  // namespace
