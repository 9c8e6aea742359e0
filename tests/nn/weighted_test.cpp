// SPDX-License-Identifier: MIT
#include <lockstep/nn/weighted.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/concepts.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/network.hpp>

#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

using Labels = std::span<const std::int32_t>;
using WeightedLabels = WeightedTargets<Labels, double>;
static_assert(Sliceable<Batch<double, WeightedLabels>>);
static_assert(ChecksTargets<CrossEntropy, float> && ChecksTargets<MeanSquaredError, double>);

constexpr std::array<std::int32_t, 5> labels{0, 3, 1, 2, 0};
constexpr std::array<double, 5> weights{1, 0.25, 0, 3, 0.5};
const std::vector<double> logits = test::uniform(20, 1, -3, 3);

BOOST_AUTO_TEST_CASE(a_row_counts_as_much_as_its_weight) {
    std::vector<double> gradient(20, 9);
    const MatrixView<const double> view(logits.data(), 5, 4);
    const MatrixView<double> written(gradient.data(), 5, 4);
    const LossSum loss = Weighted<CrossEntropy>::backward(view, {labels, weights}, written);
    BOOST_TEST(loss.weight == 4.75);
    double sum = 0;
    for (std::size_t row = 0; row < 5; ++row) {
        std::array<double, 4> own{};
        const Shard range{row, 1};
        sum += weights[row] * CrossEntropy::backward(view.slice(range), Labels(labels).subspan(row, 1),
                                                     MatrixView<double>(own.data(), 1, 4))
                                  .sum;
        for (std::size_t col = 0; col < 4; ++col) BOOST_TEST(written(row, col) == weights[row] * own[col]);
    }
    BOOST_TEST(loss.sum == sum);
    const LossSum same = Weighted<CrossEntropy>::evaluate(view, {labels, weights});
    BOOST_TEST((same.sum == loss.sum && same.weight == loss.weight));
}

BOOST_AUTO_TEST_CASE(gradient_matches_central_differences) {
    std::vector<double> values = logits;
    std::vector<double> gradient(20);
    const MatrixView<const double> view(values.data(), 5, 4);
    Weighted<CrossEntropy>::backward(view, {labels, weights}, MatrixView<double>(gradient.data(), 5, 4));
    BOOST_TEST(test::gradient_error(values, gradient, [&] {
                   return Weighted<CrossEntropy>::evaluate(view, {labels, weights}).sum;
               }) < 1e-8);
}

BOOST_AUTO_TEST_CASE(an_ignored_label_takes_its_weight_out_of_the_sum) {
    using Criterion = Weighted<CrossEntropyWith<std::ratio<0>, 0>>;
    const LossSum loss = Criterion::evaluate(MatrixView<const double>(logits.data(), 5, 4), {labels, weights});
    BOOST_TEST(loss.weight == 3.25);
}

BOOST_AUTO_TEST_CASE(rows_of_weight_zero_do_nothing_even_where_the_loss_is_not_finite) {
    const double infinite = std::numeric_limits<double>::infinity();
    const std::array<double, 3> outputs{infinite, 2, -infinite};
    const std::array<double, 3> targets{1, 1, 1};
    std::array<double, 3> gradient{9, 9, 9};
    const MatrixView<const double> output(outputs.data(), 3, 1);
    const MatrixView<const double> target(targets.data(), 3, 1);
    const MatrixView<double> written(gradient.data(), 3, 1);
    using Criterion = Weighted<MeanSquaredError>;
    const std::array<double, 3> middle{0, 2, -0.0};
    const LossSum loss = Criterion::backward(output, {target, middle}, written);
    BOOST_TEST((loss.sum == 2 && loss.weight == 2));
    BOOST_TEST(gradient == (std::array<double, 3>{0, 4, 0}), boost::test_tools::per_element());

    const std::array<double, 3> nothing{};
    const LossSum none = Criterion::backward(output, {target, nothing}, written);
    BOOST_TEST((none.sum == 0 && none.weight == 0));
    for (const double value : gradient) BOOST_TEST(value == 0);
    BOOST_TEST(Criterion::evaluate(output, {target, nothing}).weight == 0);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_before_anything_is_written) {
    std::vector<double> gradient(20, 9);
    const MatrixView<const double> view(logits.data(), 5, 4);
    const auto refuses = [&](const WeightedLabels& targets, const std::string& text) {
        const auto says = [&](const ShapeError& error) { return error.what() == text; };
        BOOST_CHECK_EXCEPTION(
            Weighted<CrossEntropy>::backward(view, targets, MatrixView<double>(gradient.data(), 5, 4)), ShapeError,
            says);
        BOOST_CHECK_EXCEPTION(Weighted<CrossEntropy>::evaluate(view, targets), ShapeError, says);
        for (const double value : gradient) BOOST_TEST(value == 9);
    };
    const auto refuses_weight = [&](double weight, const std::string& text) {
        std::array<double, 5> wrong = weights;
        wrong[3] = weight;
        refuses({labels, wrong}, "Weighted: the weight of row 3 is " + text + ", not a finite number of at least 0");
    };
    refuses_weight(-0.5, "-0.5");
    refuses_weight(std::numeric_limits<double>::quiet_NaN(), "nan");
    refuses_weight(std::numeric_limits<double>::infinity(), "inf");
    const std::array<std::int32_t, 5> wrong{0, 3, 4, 2, 0};  // in a row of weight 0, too
    refuses({wrong, weights}, "CrossEntropy: the label of row 2 is 4, outside [0, 4)");
    refuses(WeightedLabels(labels, weights).slice({0, 4}), "CrossEntropy: 4 labels for 5 rows");
    BOOST_CHECK_EXCEPTION(WeightedLabels(labels, std::span(weights).first(3)), ShapeError, [](const ShapeError& error) {
        return std::string(error.what()) == "3 weights for 5 targets";
    });
}

BOOST_AUTO_TEST_CASE(a_network_takes_batches_with_weights_and_cuts_them) {
    using Net = Network<Linear<4, 4>, Weighted<CrossEntropy>, double>;
    const Net::batch_type batch{{logits.data(), 5, 4}, {labels, weights}};
    Net whole{3};
    Net parts{3};
    const LossSum loss = whole.backward(batch);
    LossSum sum;
    for (const Shard range : {Shard{0, 2}, Shard{2, 3}}) {
        const LossSum own = parts.backward(batch.slice(range));
        sum = {sum.sum + own.sum, sum.weight + own.weight};
    }
    BOOST_TEST(sum.weight == loss.weight);
    BOOST_TEST(std::abs(sum.sum - loss.sum) < 1e-13);
    for (std::size_t i = 0; i < whole.gradients().size(); ++i) {
        BOOST_TEST(std::abs(whole.gradients()[i] - parts.gradients()[i]) < 1e-13);
    }
    BOOST_TEST(WeightedLabels().rows() == 0U);
    BOOST_TEST(whole.loss({}).weight == 0);
}

}  // namespace
