// SPDX-License-Identifier: MIT
// Models, reducers and batches that are not the library's.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/optim/sgd.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// A row has a place, a value for the gradient of that place, and a weight: 0 for a label that is masked out.
struct Row {
    std::size_t place;
    double slope;
    double loss = 0;
    double weight = 1;
};

struct Rows {
    std::span<const Row> all;
    std::size_t rows() const { return all.size(); }
    Rows slice(Shard shard) const { return {all.subspan(shard.begin, shard.size)}; }
};

/// Three numbers of which each row moves one.
struct Places {
    using scalar_type = double;
    std::array<double, 3> values{1, 1, 1};
    std::array<double, 3> slopes{};

    std::span<double> parameters() { return values; }
    std::span<double> gradients() { return slopes; }
    Manifest manifest() const { return {{"a", {1}}, {"b", {1}}, {"c", {1}}}; }

    LossSum backward(const Rows& rows) {
        LossSum loss;
        for (const Row& row : rows.all) {
            slopes[row.place] += row.slope;
            loss.sum += row.loss;
            loss.weight += row.weight;
        }
        return loss;
    }
};

/// Runs `work(replica)` on all ranks with each reducer.
template <class Runner, class Work>
void with_replicas(int world, const Work& work) {
    test::check_all_well(Runner::run(world, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            DataParallel<Places, test::ReducerFor<decltype(link)>, std::remove_reference_t<decltype(link)>> replica{
                Places{}, link, reducer};
            work(replica);
        });
    }));
}

// Trial B06: the normaliser is the weight of all rows, not their number.
BOOST_AUTO_TEST_CASE_TEMPLATE(masked_rows_do_not_count, Runner, test::Transports) {
    std::vector<Row> rows(8, Row{0, 0, 0, 0});
    rows[2] = {0, 12, 3, 1};                                              // the one valid label of rank 0
    for (const std::size_t row : {4U, 5U, 7U}) rows[row] = {0, 4, 0, 1};  // three of rank 1
    rows[7].loss = 1;
    with_replicas<Runner>(2, [&](auto& replica) {
        const MeanLoss loss = replica.backward(Rows{rows});
        test::expect(loss.mean == 1.0 && loss.weight == 4.0, "loss " + std::to_string(loss.mean));
        test::expect(replica.model().slopes == std::array<double, 3>{6, 0, 0}, "gradient");
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_that_are_all_masked_leave_no_gradient, Runner, test::Transports) {
    // A model may have a gradient for rows without weight: it must not reach a step, for each rank has another.
    const std::vector<Row> rows{{0, 5, 0, 0}, {1, 6, 0, 0}};
    with_replicas<Runner>(2, [&](auto& replica) {
        test::expect(replica.backward(Rows{rows}).weight == 0, "weight");
        test::expect(replica.model().slopes == std::array<double, 3>{}, "gradient");
    });
}

// Trial B09: a parameter that only some ranks have used.
BOOST_AUTO_TEST_CASE_TEMPLATE(parameters_used_on_some_ranks_are_averaged_over_all, Runner, test::Transports) {
    const std::vector<Row> rows{{0, 6}, {1, 10}};
    with_replicas<Runner>(2, [&](auto& replica) {
        Sgd<double> optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
        for (int step = 0; step < 2; ++step) {
            replica.backward(Rows{rows});
            test::expect(replica.model().slopes == std::array<double, 3>{3, 5, 0}, "gradient");
            optimizer.step(replica.model());
        }
        const auto near = [](double value, double expected) { return std::abs(value - expected) < 1e-12; };
        const auto& values = replica.model().values;
        test::expect(near(values[0], 0.13) && near(values[1], -0.45) && values[2] == 1, "parameters");
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gradients_of_the_step_before_are_gone, Runner, test::Transports) {
    for (const int world : test::worlds) {
        with_replicas<Runner>(world, [&](auto& replica) {
            replica.model().slopes = {1e9, 1e9, 1e9};
            const std::vector<Row> first(10, Row{0, 2});
            replica.backward(Rows{first});
            test::expect(replica.model().slopes == std::array<double, 3>{2, 0, 0}, "first step");
            const std::vector<Row> second{{2, 9}, {1, 3}, {2, 6}};
            replica.backward(Rows{second});
            test::expect(replica.model().slopes == std::array<double, 3>{0, 1, 5}, "second step");
        });
    }
}

/// Nothing but a number of rows: this rank's own, which nobody can slice.
struct Own {
    std::vector<Row> all;
    std::size_t rows() const { return all.size(); }
    operator Rows() const { return {all}; }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_may_bring_other_numbers_of_rows_each, Runner, test::Transports) {
    for (const int world : test::worlds) {
        with_replicas<Runner>(world, [&](auto& replica) {
            // Rank r brings r rows of slope r + 1, so rank 0 brings none.
            const int rank = replica.rank();
            const Own own{std::vector<Row>(static_cast<std::size_t>(rank), Row{0, rank + 1.0, 2.0 * rank})};
            const MeanLoss loss = replica.backward_shard(own);
            double rows = 0;
            double slopes = 0;
            double losses = 0;
            for (int each = 0; each < world; ++each) {
                rows += each;
                slopes += each * (each + 1.0);
                losses += 2.0 * each * each;
            }
            test::expect(loss.weight == rows, "weight");
            test::expect(loss.mean == (rows == 0 ? 0 : losses / rows), "loss");
            test::expect(replica.model().slopes[0] == (rows == 0 ? 0 : slopes / rows), "gradient");
        });
    }
}

/// A reducer that is no topology, and keeps count: rank by rank, everyone sends to rank 0, which answers.
struct Clerk {
    int* calls = nullptr;

    template <class Link, class Scalar, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        ++*calls;
        const Call call = link.begin({.operation = Operation::all_reduce,
                                      .reduction = Operator::kind,
                                      .type = element_type_of<Scalar>,
                                      .topology = short_name("clerk"),
                                      .elements = buffer.size()});
        const auto bytes = std::as_writable_bytes(buffer);
        if (link.rank() != 0) {
            link.exchange(call, {0, bytes}, {});
            return link.exchange(call, {}, {0, bytes});
        }
        for (int peer = 1; peer < link.world_size(); ++peer) {
            link.exchange(call, {}, {peer, bytes, combine_of<Operator, Scalar>()});
        }
        owner_acts(buffer, 0);
        for (int peer = 1; peer < link.world_size(); ++peer) link.exchange(call, {peer, bytes}, {});
    }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(a_reducer_of_ones_own_is_kept_with_its_state, Runner, test::Transports) {
    const std::vector<Row> rows{{0, 6}, {1, 12}, {2, 3}};
    for (const int world : test::worlds) {
        test::PerRank<int> calls(world);
        test::check_all_well(Runner::run(world, [&](auto& link) {
            DataParallel<Places, Clerk, std::remove_reference_t<decltype(link)>> replica{Places{}, link,
                                                                                         Clerk{&calls[link.rank()]}};
            for (int step = 0; step < 3; ++step) replica.backward(Rows{rows});
            test::expect(replica.model().slopes == std::array<double, 3>{2, 4, 1}, "gradient");
        }));
        // Loss and gradient of each step.
        BOOST_TEST(calls.all_are(6));
    }
}

}  // namespace
