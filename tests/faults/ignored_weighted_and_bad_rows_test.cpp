// SPDX-License-Identifier: MIT
// Trial B06: the normaliser is not the row count. And what a row that means nothing does to everybody.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ratio>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data/loader.hpp>
#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/data/weighted_rows.hpp>
#include <lockstep/nn/binary_cross_entropy.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/embedding.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/nn/weighted.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/any_reducer.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

constexpr std::int32_t none = -100;
constexpr std::size_t rows = 8;
/// With two ranks the first has one label, of loss 3, and the second three, of losses that sum to 1.
constexpr std::array<std::int32_t, rows> labels{0, none, none, none, 0, 1, none, 0};
constexpr std::array<double, rows> losses{3, 0, 0, 0, 0.5, 0.25, 0, 0.25};

/// Rows of two logits, whose losses are these; where there is no label, something large that is not to be seen.
std::vector<double> logits() {
    std::vector<double> values(2 * rows, 100);
    for (std::size_t row = 0; row < rows; ++row) {
        if (labels[row] == none) continue;
        const auto right = static_cast<std::size_t>(labels[row]);
        values[2 * row + right] = -std::log(std::expm1(losses[row]));
        values[2 * row + 1 - right] = 0;
    }
    return values;
}

struct Mean {
    double loss = 0;
    double weight = 0;
    std::array<double, 6> gradient{};  ///< of weight (2, 2) and bias (2)
};

/// The mean over all rows with these weights, by hand.
Mean mean_of(const std::vector<double>& inputs, std::span<const double> weights) {
    Mean mean;
    for (std::size_t row = 0; row < rows; ++row) {
        if (labels[row] == none) continue;
        mean.weight += weights[row];
        mean.loss += weights[row] * losses[row];
        const double share = weights[row] * -std::expm1(-losses[row]);  // of the wrong class
        for (std::size_t output = 0; output < 2; ++output) {
            const double slope = static_cast<std::size_t>(labels[row]) == output ? -share : share;
            mean.gradient[2 * output] += slope * inputs[2 * row];
            mean.gradient[2 * output + 1] += slope * inputs[2 * row + 1];
            mean.gradient[4 + output] += slope;
        }
    }
    mean.loss /= mean.weight;
    for (double& value : mean.gradient) value /= mean.weight;
    return mean;
}

template <class Criterion>
using NetOf = Network<Linear<2, 2>, Criterion, double>;

/// Outputs are the inputs.
template <class Net>
Net identity() {
    Net net{1};
    const std::array<double, 6> parameters{1, 0, 0, 1, 0, 0};
    std::copy(parameters.begin(), parameters.end(), net.parameters().begin());
    return net;
}

template <class Replica>
void expect_mean(Replica& replica, const MeanLoss& loss, const Mean& right, const std::string& what) {
    test::expect(loss.weight == right.weight, what + ": weight");
    test::expect(std::abs(loss.mean - right.loss) < 1e-14, what + ": loss");
    for (std::size_t index = 0; index < right.gradient.size(); ++index) {
        const double error = std::abs(replica.model().gradients()[index] - right.gradient[index]);
        test::expect(error < 1e-14, what + ": gradient " + std::to_string(index));
    }
}

using Masked = NetOf<CrossEntropyWith<std::ratio<0>, none>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(labels_that_are_ignored_do_not_count, Runner, test::EveryTransport) {
    const std::vector<double> inputs = logits();
    const Mean right = mean_of(inputs, std::vector<double>(rows, 1));
    BOOST_TEST(std::abs(right.loss - 1) < 1e-15);  // the mean of the ranks' means would be 1.6667
    const std::vector<std::int32_t> nobody(rows, none);
    for (const int world_size : {2, 3}) {
        test::check_all_well(Runner::run(world_size, [&](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) {
                DataParallel<Masked, test::ReducerFor<decltype(link)>, test::LinkOf<decltype(link)>> replica{
                    identity<Masked>(), link, reducer};
                const Masked::batch_type batch{{inputs.data(), rows, 2}, labels};
                expect_mean(replica, replica.backward(batch), right, reducer.name);
                const MeanLoss evaluated = replica.evaluate(batch);
                test::expect(evaluated.weight == 4 && std::abs(evaluated.mean - 1) < 1e-14, "evaluate");
                const MeanLoss nothing = replica.backward(Masked::batch_type{{inputs.data(), rows, 2}, nobody});
                test::expect(nothing.weight == 0 && nothing.mean == 0, "no label on any rank");
                for (const double value : replica.model().gradients()) test::expect(value == 0, "gradient of nothing");
            });
        }));
    }
}

using Heavy = NetOf<Weighted<CrossEntropyWith<std::ratio<0>, none>>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_count_by_their_weights, Runner, test::EveryTransport) {
    const std::vector<double> inputs = logits();
    Tensor<double> tensor({rows, 2});
    std::copy(inputs.begin(), inputs.end(), tensor.values().begin());
    // The first rank's only label weighs 1/2, the second's weigh 2, 0 and 4; what is ignored weighs nothing.
    const std::vector<double> weights{0.5, 9, 9, 9, 2, 0, 9, 4};
    const Mean right = mean_of(inputs, weights);
    BOOST_TEST(std::abs(right.loss - 3.5 / 6.5) < 1e-15);
    const WeightedDataset<double> dataset(std::move(tensor), {{labels.begin(), labels.end()}, weights});
    for (const int world_size : {2, 3}) {
        test::check_all_well(Runner::run(world_size, [&](auto& link) {
            Loader loader{dataset, SequentialSampler{}, rows};
            test::for_each_reducer(link, [&](const auto& reducer) {
                DataParallel<Heavy, test::ReducerFor<decltype(link)>, test::LinkOf<decltype(link)>> replica{
                    identity<Heavy>(), link, reducer};
                for (const auto& batch : loader.epoch(0)) {
                    expect_mean(replica, replica.backward(batch), right, reducer.name);
                    replica.accumulate(batch.slice({0, 5}));
                    replica.accumulate(batch.slice({5, 3}));
                    expect_mean(replica, replica.average(), right, std::string(reducer.name) + " in two parts");
                }
            });
        }));
    }
}

/// On three ranks eight rows are 3, 3 and 2: row 4 is row 1 of rank 1, who names it to all.
template <class Runner, class Net>
void check_everybody_hears(const typename Net::batch_type& batch, const std::string& text) {
    const auto outcomes = Runner::run(3, [&](auto& link) {
        DataParallel<Net, Ring, test::LinkOf<decltype(link)>> replica{Net{1}, link};
        const auto copy = [](std::span<const double> values) {
            return std::vector<double>(values.begin(), values.end());
        };
        const std::vector<double> before = copy(replica.model().parameters());
        try {
            replica.backward(batch);
        } catch (...) {
            test::expect(copy(replica.model().parameters()) == before, "parameters have changed");
            throw;
        }
    });
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
        BOOST_TEST(outcomes[rank].message == text);
        BOOST_TEST((outcomes[rank].is_error && outcomes[rank].kind == ErrorKind::shape));
        if (rank != 1) BOOST_TEST(outcomes[rank].rank == 1);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_bad_row_is_named_to_all_ranks, Runner, test::EveryTransport) {
    const std::vector<double> inputs(2 * rows);
    const MatrixView<const double> view(inputs.data(), rows, 2);
    const double nan = std::numeric_limits<double>::quiet_NaN();

    std::vector<std::int32_t> wrong(rows);
    wrong[4] = 2;
    check_everybody_hears<Runner, NetOf<CrossEntropy>>({view, wrong},
                                                       "CrossEntropy: the label of row 1 is 2, outside [0, 2)");
    wrong[4] = -1;
    check_everybody_hears<Runner, Masked>({view, wrong}, "CrossEntropy: the label of row 1 is -1, outside [0, 2)");

    const std::vector<std::int32_t> good(rows);
    std::vector<double> weights(rows, 1);
    weights[4] = -2;
    check_everybody_hears<Runner, NetOf<Weighted<CrossEntropy>>>(
        {view, {good, weights}}, "Weighted: the weight of row 1 is -2, not a finite number of at least 0");

    std::vector<double> targets(2 * rows);
    targets[2 * 4 + 1] = nan;
    check_everybody_hears<Runner, NetOf<BinaryCrossEntropy>>(
        {view, {targets.data(), rows, 2}}, "BinaryCrossEntropy: the target of row 1, column 1 is nan, not in [0, 1]");

    std::vector<double> indices(2 * rows);
    indices[2 * 4] = 7;
    using Looked = Network<Sequential<Embedding<3, 2, 2>, Linear<4, 2>>, CrossEntropy, double>;
    check_everybody_hears<Runner, Looked>({{indices.data(), rows, 2}, good},
                                          "Embedding: the index of row 1, column 0 is 7, not a whole number in [0, 3)");
}

}  // namespace
