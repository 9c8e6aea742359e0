// SPDX-License-Identifier: MIT
#include <lockstep/run/threads.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"

namespace {

using lockstep::run_threads;
using lockstep::Threads;

/// What a caller gets who knows nothing of lockstep's errors.
struct Custom {
    int code;
};

BOOST_AUTO_TEST_CASE(every_rank_works_once) {
    for (const int world : test::worlds) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(world));
        run_threads(world, [&](Threads link) {
            test::expect(link.world_size() == world, "world size");
            ++runs[static_cast<std::size_t>(link.rank())];
        });
        for (const auto& times : runs) BOOST_TEST(times.load() == 1);
    }
}

BOOST_AUTO_TEST_CASE(ranks_reach_each_other) {
    run_threads(5, [](Threads link) { test::go_round(link, link.begin(test::bytes_request(100)), 100); });
}

BOOST_AUTO_TEST_CASE(a_world_has_at_least_one_rank) {
    bool worked = false;
    for (const int world : {0, -4}) {
        const auto outcome = test::outcome_of([&] { run_threads(world, [&](Threads) { worked = true; }); });
        test::check_error(outcome, lockstep::ErrorKind::configuration, {"world_size", std::to_string(world)});
    }
    BOOST_TEST(!worked);
}

BOOST_AUTO_TEST_CASE(an_exception_reaches_the_caller_as_it_was_thrown) {
    for (const int thrower : {0, 1, 3}) {
        std::array<test::Outcome, 4> others;
        const auto work = [&](const auto& exception) {
            return [&, exception](Threads link) {
                if (link.rank() == thrower) throw exception;
                others[static_cast<std::size_t>(link.rank())] =
                    test::outcome_of([&] { test::go_round(link, link.begin(test::bytes_request(8))); });
                link.begin({});
            };
        };
        BOOST_CHECK_EXCEPTION(run_threads(4, work(std::out_of_range("row 7"))), std::out_of_range,
                              [](const auto& error) { return error.what() == std::string("row 7"); });
        // The others were released, with its text.
        const std::string text = "rank " + std::to_string(thrower) + ": row 7";
        for (int rank = 0; rank < 4; ++rank) {
            if (rank != thrower) {
                test::check_error(others[static_cast<std::size_t>(rank)], lockstep::ErrorKind::remote, {text});
            }
        }
        BOOST_CHECK_EXCEPTION(run_threads(4, work(Custom{42})), Custom,
                              [](const Custom& custom) { return custom.code == 42; });
        BOOST_CHECK_EXCEPTION(run_threads(4, work(lockstep::ShapeError("7 is not 8", 2))), lockstep::ShapeError,
                              [](const auto& error) { return error.rank() == 2; });
    }
}

BOOST_AUTO_TEST_CASE(of_two_exceptions_at_once_the_caller_gets_one) {
    for (int round = 0; round < 100; ++round) {
        try {
            run_threads(4, [](Threads link) {
                if (link.rank() % 2 == 1) throw std::runtime_error("rank " + std::to_string(link.rank()));
                test::go_round(link, link.begin(test::bytes_request(8)));
            });
            BOOST_ERROR("nothing was thrown");
        } catch (const lockstep::Error& error) {
            BOOST_ERROR("an error that was only passed on: " << error.what());
        } catch (const std::runtime_error& error) {
            BOOST_TEST((error.what() == std::string("rank 1") || error.what() == std::string("rank 3")));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_ends_early_is_missed_at_once_and_not_after_the_timeout) {
    const auto outcome = test::outcome_of([] {
        run_threads(2, [](Threads link) {
            if (link.rank() == 1) return;
            test::exchange_message(link, link.begin(test::bytes_request(8)), 1, 1, 0, 8);
        });
    });
    test::check_error(outcome, lockstep::ErrorKind::peer_lost, {"rank 1 has left"});
}

BOOST_AUTO_TEST_CASE(the_timeout_is_the_one_asked_for) {
    std::atomic<bool> over{false};
    const auto outcome = test::outcome_of([&] {
        run_threads(2,
                    [&](Threads link) {
                        if (link.rank() == 1) return over.wait(false);
                        const auto waited = test::outcome_of(
                            [&] { test::exchange_message(link, link.begin(test::bytes_request(8)), 1, 1, 0, 8); });
                        over.store(true);
                        over.notify_all();
                        link.begin({});
                    },
                    {.timeout = lockstep::Seconds{0.05}});
    });
    test::check_error(outcome, lockstep::ErrorKind::timeout, {"rank 0 has waited 0.05 s for rank 1"});
}

// ---- A step that fails --------------------------------------------------------------------------------------

/// Rows are numbers; the loss of a row x is (w x)^2 / 2.
struct Rows {
    std::span<const float> values;

    std::size_t rows() const { return values.size(); }
    Rows slice(lockstep::Shard shard) const { return {values.subspan(shard.begin, shard.size)}; }
};

/// One weight; cannot bear the row 7.
struct Squeamish {
    using scalar_type = float;

    std::span<float> parameters() { return {&weight, 1}; }
    std::span<float> gradients() { return {&gradient, 1}; }
    lockstep::Manifest manifest() const { return {{"weight", {1}}}; }
    lockstep::LossSum backward(const Rows& batch) {
        lockstep::LossSum loss;
        for (const float row : batch.values) {
            if (row == 7) throw std::runtime_error("bad row 7");
            gradient += weight * row * row;
            loss.sum += 0.5 * static_cast<double>(weight * row * weight * row);
            ++loss.weight;
        }
        return loss;
    }

    float weight = 1;
    float gradient = 0;
};

using Topologies = boost::mpl::list<lockstep::Naive, lockstep::Tree, lockstep::Ring>;

BOOST_AUTO_TEST_CASE_TEMPLATE(no_rank_takes_a_step_in_which_one_has_thrown, Shape, Topologies) {
    // Four rows a step, one a rank: rank 1 meets the bad one in its third step.
    const std::array<std::array<float, 4>, 4> steps{{{1, 2, 3, 4}, {1, 1, 1, 1}, {1, 7, 3, 4}, {1, 1, 1, 1}}};
    std::array<float, 4> weights{};
    std::array<int, 4> taken{};
    std::array<test::Outcome, 4> afterwards;
    const auto train = [&](Threads link) {
        lockstep::DataParallel<Squeamish, Shape, Threads> replica(Squeamish{}, link);
        const auto rank = static_cast<std::size_t>(link.rank());
        try {
            for (const auto& step : steps) {
                replica.backward(Rows{step});
                replica.model().weight -= 0.0625F * replica.model().gradient;
                ++taken[rank];
            }
        } catch (...) {
            weights[rank] = replica.model().weight;
            afterwards[rank] = test::outcome_of([&] { replica.backward(Rows{steps[0]}); });
            throw;
        }
    };
    BOOST_CHECK_EXCEPTION(run_threads(4, train), std::runtime_error,
                          [](const auto& error) { return error.what() == std::string("bad row 7"); });
    // Mean gradients 30 / 4 w and w: 1 - 7.5 / 16 = 0.53125, times 15 / 16. All exact.
    constexpr std::array<float, 3> after{1, 0.53125F, 0.498046875F};
    BOOST_TEST(taken[1] == 2);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        // The news may find a rank that has not yet heard the result of the step before.
        BOOST_TEST((taken[rank] == 1 || taken[rank] == 2));
        BOOST_TEST(weights[rank] == after.at(static_cast<std::size_t>(taken[rank])));
        test::check_error(afterwards[rank], lockstep::ErrorKind::remote, {"rank 1: bad row 7"});
    }
}

}  // namespace
