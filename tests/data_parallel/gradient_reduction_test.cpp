// SPDX-License-Identifier: MIT
// What a step communicates while its passes still run: buckets of gradients, and sums that layers ask for.
#include <lockstep/data_parallel/gradient_reduction.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ratio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/batch_norm.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/dropout.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/residual.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/values.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

using Plain = Sequential<Linear<4, 20>, Relu, Linear<20, 9>, Tanh, Linear<9, 3>>;
template <Statistics statistics>
using Deep = Sequential<Linear<4, 6>, BatchNorm<Features<6>, statistics>, Relu, Dropout<std::ratio<1, 4>>,
                        Residual<Linear<6, 6>, BatchNorm<Features<6>, statistics>, Dropout<>>, Linear<6, 3>>;
template <class Architecture>
using Net = Network<Architecture, CrossEntropy, double>;

constexpr std::array modes{Overlap::none, Overlap::per_bucket, Overlap::per_bucket_by_thread};

struct Rows {
    std::vector<double> inputs;
    std::vector<std::int32_t> labels;

    explicit Rows(std::size_t count) {
        for (std::size_t index = 0; index < count * 4; ++index) {
            inputs.push_back((static_cast<double>(index * 37 % 101) - 50) / 32);
        }
        for (std::size_t row = 0; row < count; ++row) labels.push_back(static_cast<std::int32_t>(row * row % 3));
    }
    Net<Plain>::batch_type batch() const { return {MatrixView<const double>(inputs.data(), labels.size(), 4), labels}; }
};

/// One process with the whole batch.
template <class Architecture>
struct Alone {
    Net<Architecture> net{7};
    double loss = 0;

    void step(const Rows& rows, std::uint64_t number) {
        net.zero_grad();
        loss = net.backward(rows.batch(), {.step = number}).sum / static_cast<double>(rows.labels.size());
        for (double& gradient : net.gradients()) gradient /= static_cast<double>(rows.labels.size());
    }
};

void expect_near(std::span<const double> values, std::span<const double> expected, double limit,
                 const std::string& what) {
    double error = values.size() == expected.size() ? 0 : HUGE_VAL;
    double largest = 1e-300;
    for (std::size_t index = 0; index < values.size(); ++index) {
        error = std::max(error, std::abs(values[index] - expected[index]));
        largest = std::max(largest, std::abs(expected[index]));
    }
    test::expect(error <= limit * largest, what + ": " + std::to_string(error / largest * 1e15) + "e-15");
}

template <class Strategy, class Architecture, class Runner>
void expect_as_alone(int world, const DataParallelOptions& options) {
    test::check_all_well(Runner::run(world, [&](auto& link) {
        // Every rank begins elsewhere; rank 0's seed is everybody's.
        DataParallel<Net<Architecture>, Strategy, std::remove_reference_t<decltype(link)>> replica{
            Net<Architecture>(7 + static_cast<std::uint64_t>(link.rank())), link, options};
        Alone<Architecture> alone;
        for (const std::size_t count : {10U, 3U, 2U, 10U}) {
            const Rows rows(count);
            alone.step(rows, replica.steps());
            const MeanLoss loss = replica.backward(rows.batch());
            test::expect(loss.rows == static_cast<double>(count), "rows");
            expect_near({&loss.mean, 1}, {&alone.loss, 1}, 1e-12, "loss");
            expect_near(replica.model().gradients(), alone.net.gradients(), 1e-12, "gradients");
            expect_near(replica.model().buffers(), alone.net.buffers(), 1e-12, "buffers");
        }
        // Rows that ranks bring themselves: the last rank three more than the others.
        const auto own = [&](int rank) { return rank + 1 == world ? std::size_t{4} : std::size_t{1}; };
        const Rows rows(static_cast<std::size_t>(world) + 3);
        alone.step(rows, replica.steps());
        replica.backward_shard(rows.batch().slice({static_cast<std::size_t>(link.rank()), own(link.rank())}));
        expect_near(replica.model().gradients(), alone.net.gradients(), 1e-12, "gradients of own rows");
        // One rank alone has some.
        const Rows few(3);
        alone.step(few, replica.steps());
        if (link.rank() == 0) replica.backward_shard(few.batch());
        else replica.backward_shard();
        expect_near(replica.model().gradients(), alone.net.gradients(), 1e-12, "gradients of rank 0's rows");
        test::expect(replica.backward_shard().rows == 0, "no rows");
        for (const double gradient : replica.model().gradients()) test::expect(gradient == 0, "no gradient");
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(buckets_reduce_to_the_gradient_of_the_whole_batch, Runner, test::Transports) {
    for (const int world : test::worlds) {
        for (const Overlap overlap : modes) {
            // A bucket of a cache line, one that ends within a layer, and the default.
            for (const std::size_t bytes : {64U, 700U, 0U}) {
                expect_as_alone<Ring, Plain, Runner>(world, {overlap, bytes});
            }
        }
    }
    if constexpr (std::same_as<Runner, test::OverThreads>) {
        for (const Overlap overlap : modes) expect_as_alone<Fused, Plain, Runner>(3, {overlap, 128});
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(layers_see_the_whole_batch, Runner, test::Transports) {
    for (const int world : test::worlds) {
        for (const Overlap overlap : modes)
            expect_as_alone<Ring, Deep<Statistics::global>, Runner>(world, {overlap, 64});
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_reducer_that_adds_in_rank_order_gives_the_same_bits_in_buckets, Runner,
                              test::Transports) {
    test::check_all_well(Runner::run(3, [&](auto& link) {
        std::vector<double> first;
        for (const Overlap overlap : modes) {
            DataParallel<Net<Plain>, Naive, std::remove_reference_t<decltype(link)>> replica{
                Net<Plain>(7), link, DataParallelOptions{overlap, 64}};
            replica.backward(Rows(10).batch());
            const std::span<const double> gradients = replica.model().gradients();
            test::expect(first.empty() || std::equal(first.begin(), first.end(), gradients.begin()), "other bits");
            first.assign(gradients.begin(), gradients.end());
        }
    }));
}

BOOST_AUTO_TEST_CASE(parts_are_reduced_once_and_in_buckets) {
    for (const Overlap overlap : modes) {
        test::check_all_well(test::OverThreads::run(3, [&](auto& link) {
            DataParallel<Net<Plain>, Ring> replica{Net<Plain>(7), link, DataParallelOptions{overlap, 256}};
            Alone<Plain> alone;
            alone.step(Rows(10), 0);
            const auto batch = Rows(10);
            const std::uint64_t before = link.traffic().messages;
            for (const Shard part : {Shard{0, 4}, Shard{4, 6}}) replica.accumulate(batch.batch().slice(part));
            test::expect(link.traffic().messages == before, "accumulating is silent");
            test::expect(replica.average().rows == 10, "rows");
            expect_near(replica.model().gradients(), alone.net.gradients(), 1e-12, "gradients");
        }));
    }
}

BOOST_AUTO_TEST_CASE(dropout_counts_rows_over_all_parts) {
    using WithDropout = Sequential<Linear<4, 6>, Dropout<>, Linear<6, 3>>;
    for (const int world : {1, 2, 3}) {
        test::check_all_well(test::OverThreads::run(world, [&](auto& link) {
            DataParallel<Net<WithDropout>, Ring> replica{Net<WithDropout>(7), link};
            Alone<WithDropout> alone;
            const Rows rows(10);
            alone.step(rows, 0);
            replica.accumulate(rows.batch().slice({0, 4}));
            const Shard own = shard_of(6, link.rank(), world);
            replica.accumulate_shard(rows.batch().slice({4 + own.begin, own.size}));
            replica.average();
            expect_near(replica.model().gradients(), alone.net.gradients(), 1e-12, "gradients");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(local_statistics_are_averaged_by_rows, Runner, test::Transports) {
    using Architecture = Sequential<BatchNorm<Features<4>, Statistics::local>, Linear<4, 3>>;
    test::check_all_well(Runner::run(3, [&](auto& link) {
        DataParallel<Net<Architecture>, Ring, std::remove_reference_t<decltype(link)>> replica{Net<Architecture>(7),
                                                                                               link};
        const Rows rows(8);  // shards of 3, 3 and 2 rows
        replica.backward(rows.batch());
        std::array<double, 8> expected{};
        for (int rank = 0; rank < 3; ++rank) {
            Net<Architecture> alone(7);
            const Shard own = shard_of(8, rank, 3);
            alone.backward(rows.batch().slice(own));
            for (std::size_t index = 0; index < 8; ++index) {
                expected[index] += alone.buffers()[index] * static_cast<double>(own.size) / 8;
            }
        }
        expect_near(replica.model().buffers(), expected, 1e-13, "buffers");
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_one_rank_throws_half_way_all_ranks_throw, Runner, test::Transports) {
    for (const Overlap overlap : modes) {
        const auto outcomes = Runner::run(3, [&](auto& link) {
            DataParallel<Net<Deep<Statistics::global>>, Ring, std::remove_reference_t<decltype(link)>> replica{
                Net<Deep<Statistics::global>>(7), link, DataParallelOptions{overlap, 64}};
            Rows rows(10);
            if (link.rank() == 2) rows.labels.back() = 3;  // Found between forward and backward.
            replica.backward(rows.batch());
        });
        test::check_all_threw(outcomes, "is 3, outside [0, 3)");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(buckets_of_other_sizes_are_an_error_on_all_ranks, Runner, test::Transports) {
    const auto outcomes = Runner::run(3, [&](auto& link) {
        DataParallel<Net<Plain>, Ring, std::remove_reference_t<decltype(link)>> replica{
            Net<Plain>(7), link, DataParallelOptions{Overlap::per_bucket_by_thread, link.rank() == 1 ? 128U : 64U}};
        replica.backward(Rows(10).batch());
    });
    test::check_all_threw(outcomes, "ranks disagree");
}

BOOST_AUTO_TEST_CASE(a_bucket_without_room_is_refused) {
    for (const auto& outcome : test::OverThreads::run(2, [&](auto& link) {
             DataParallel<Net<Plain>, Ring> replica{Net<Plain>(7), link, DataParallelOptions{Overlap::per_bucket, 63}};
         })) {
        BOOST_TEST((outcome.threw && outcome.kind == ErrorKind::configuration));
        BOOST_TEST(outcome.message == "DataParallel: bucket_bytes must be 0 or at least 64, not 63");
    }
}

}  // namespace
