// SPDX-License-Identifier: MIT
#include <lockstep/nn/loss.hpp>

#include <cstddef>
#include <cstdint>
#include <ratio>
#include <span>

#include <boost/test/unit_test.hpp>

#include <lockstep/nn/binary_cross_entropy.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/huber.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/weighted.hpp>

namespace {

using namespace lockstep;

static_assert(Loss<CrossEntropy> && Loss<CrossEntropy, double>);
static_assert(Loss<MeanSquaredError> && Loss<MeanSquaredError, double>);
static_assert(Loss<CrossEntropyWith<std::ratio<1, 10>, -100>> && Loss<CrossEntropyWith<>, double>);
static_assert(Loss<BinaryCrossEntropy> && Loss<BinaryCrossEntropy, double>);
static_assert(Loss<Huber<>> && Loss<Huber<std::ratio<1, 2>>, double>);
static_assert(Loss<Weighted<CrossEntropy>> && Loss<Weighted<Huber<>>, double> &&
              Loss<Weighted<Weighted<CrossEntropy>>>);
static_assert(!Loss<int>);

/// The least that is a loss.
struct Nothing {
    template <class>
    using targets_type = std::span<const int>;
    static LossSum evaluate(MatrixView<const float>, std::span<const int>) { return {}; }
    static LossSum backward(MatrixView<const float>, std::span<const int>, MatrixView<float>) { return {}; }
};
static_assert(Loss<Nothing> && !Loss<Nothing, double>);

// Each mutilation hides one member; the type is a loss no more.
struct NoTargets : Nothing {
    using targets_type = int;
};
struct NoEvaluate : Nothing {
    static void evaluate();
};
struct NoBackward : Nothing {
    static void backward();
};
static_assert(!NamesTargets<NoTargets, float> && !Loss<NoTargets>);
static_assert(!EvaluatesLoss<NoEvaluate, float> && !Loss<NoEvaluate>);
static_assert(!DifferentiatesLoss<NoBackward, float> && !Loss<NoBackward>);

/// A law of every loss: it is a sum over rows, so that parts add up to the whole, and both ways to it agree.
template <class Criterion>
void check_sums(MatrixView<const double> outputs, Criterion, auto targets_of, double weight = 4) {
    double gradient[12] = {};
    const MatrixView<double> gradients(gradient, outputs.rows, outputs.cols);
    const LossSum whole = Criterion::backward(outputs, targets_of(Shard{0, outputs.rows}), gradients);
    BOOST_TEST(whole.weight == weight);
    BOOST_TEST(Criterion::evaluate(outputs, targets_of(Shard{0, outputs.rows})).sum == whole.sum);
    LossSum sum;
    for (std::size_t row = 0; row < outputs.rows; ++row) {
        double part[3] = {};
        const Shard range{row, 1};
        const LossSum own =
            Criterion::backward(outputs.slice(range), targets_of(range), MatrixView<double>(part, 1, 3));
        sum = {sum.sum + own.sum, sum.weight + own.weight};
        for (std::size_t col = 0; col < 3; ++col) BOOST_TEST(part[col] == gradients(row, col));
    }
    BOOST_TEST(sum.sum == whole.sum, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(sum.weight == whole.weight);
}

BOOST_AUTO_TEST_CASE(rows_add_up_to_the_batch) {
    const double outputs[12] = {1, 2, 3, -1, 0, 1, 0.5, 0.25, 0.125, 7, -7, 0};
    const double targets[12] = {0, 2, 1, -1, 4, 1, 0.5, 0.5, 0.5, 6, -6, 1};
    const double answers[12] = {0, 1, 0.5, 1, 1, 0, 0.25, 0, 1, 1, 1, 0};
    const double weights[4] = {0.5, 0, 2, 1.25};
    const std::int32_t labels[4] = {2, 0, 1, 1};
    const MatrixView<const double> view(outputs, 4, 3);
    const auto numbers_of = [&](Shard range) { return MatrixView<const double>(targets, 4, 3).slice(range); };
    const auto labels_of = [&](Shard range) { return std::span(labels).subspan(range.begin, range.size); };
    check_sums(view, MeanSquaredError(), numbers_of);
    check_sums(view, Huber<std::ratio<3, 2>>(), numbers_of);
    check_sums(view, BinaryCrossEntropy(),
               [&](Shard range) { return MatrixView<const double>(answers, 4, 3).slice(range); });
    check_sums(view, CrossEntropy(), labels_of);
    check_sums(view, CrossEntropyWith<std::ratio<1, 3>, 1>(), labels_of, 2);
    const auto weighted = [&](auto whole) {
        return [&weights, whole](Shard range) {
            return WeightedTargets(whole, std::span<const double>(weights)).slice(range);
        };
    };
    check_sums(view, Weighted<MeanSquaredError>(), weighted(numbers_of({0, 4})), 3.75);
    check_sums(view, Weighted<CrossEntropyWith<std::ratio<0>, 1>>(), weighted(std::span<const std::int32_t>(labels)),
               0.5);
}

}  // namespace
