// SPDX-License-Identifier: MIT
#include <lockstep/collectives/fail_together.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(it_returns_what_the_work_returns) {
    Solo link;
    BOOST_TEST(fail_together(link, [] { return 42; }) == 42);
    BOOST_TEST(*fail_together(link, [] { return std::make_unique<int>(7); }) == 7);
    int calls = 0;
    fail_together(link, [&] { ++calls; });
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(alone_the_exception_goes_on_as_it_is) {
    Solo link;
    BOOST_CHECK_THROW(fail_together(link, []() -> int { throw std::out_of_range("7"); }), std::out_of_range);
}

/// In each world, after all have met: `work(link)` on the last rank, a barrier on the others.
template <class Runner, class Work>
std::vector<test::Outcome> with_last(int world, const Work& work) {
    return Runner::run(world, [&](auto& link) {
        barrier(link);
        if (link.rank() == world - 1) fail_together(link, [&] { work(link); });
        else barrier(link);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(others_get_the_text_and_the_rank_itself_its_own_exception, Runner, test::Transports) {
    for (const int world : test::worlds) {
        const auto outcomes = with_last<Runner>(world, [](auto&) { throw std::out_of_range("bad row 7"); });
        for (int rank = 0; rank < world; ++rank) {
            const test::Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
            BOOST_TEST(outcome.threw);
            const bool own = rank == world - 1;
            BOOST_TEST(outcome.is_error == !own);
            const std::string who = "rank " + std::to_string(world - 1) + ": ";
            BOOST_TEST(outcome.message == (own ? "" : who) + "bad row 7");
            if (own) continue;
            BOOST_TEST((outcome.kind == ErrorKind::remote));
            BOOST_TEST(outcome.rank == world - 1);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(errors_of_the_library_keep_their_kind_and_text, Runner, test::Transports) {
    for (const int world : {2, 3, 8}) {
        for (const ErrorKind kind : {ErrorKind::shape, ErrorKind::format, ErrorKind::configuration}) {
            const auto outcomes = with_last<Runner>(world, [&](auto&) { raise({kind, -1, "line 3 is too long"}); });
            for (int rank = 0; rank < world; ++rank) {
                const test::Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
                BOOST_TEST((outcome.is_error && outcome.kind == kind));
                BOOST_TEST(outcome.message == "line 3 is too long");
                // The error named no rank; those who are told of it learn whose it is.
                BOOST_TEST(outcome.rank == (rank == world - 1 ? -1 : world - 1));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_no_exception_type_fails_too, Runner, test::Transports) {
    std::atomic<int> caught{0};
    const auto outcomes = with_last<Runner>(3, [&](auto& link) {
        try {
            fail_together(link, [] { throw 42; });
        } catch (const int number) {
            caught = number;
        }
    });
    BOOST_TEST(caught == 42);
    BOOST_TEST(!outcomes[2].threw);
    for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
        BOOST_TEST(outcomes[rank].message == "rank 2: an exception that is no std::exception");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_first_failure_stays, Runner, test::Transports) {
    std::vector<std::string> later(3);
    const auto outcomes = Runner::run(3, [&](auto& link) {
        try {
            barrier(link);
            if (link.rank() == 1) fail_together(link, [] { throw std::runtime_error("first"); });
            barrier(link);
        } catch (const std::exception&) {
            // Whatever is called or reported after it.
            link.fail({ErrorKind::remote, link.rank(), "second"});
            later[static_cast<std::size_t>(link.rank())] = test::outcome_of([&] { barrier(link); }).message;
            throw;
        }
    });
    for (const std::string& message : later) BOOST_TEST(message == "rank 1: first");
    BOOST_TEST(outcomes[0].message == "rank 1: first");
    BOOST_TEST(outcomes[1].message == "first");
    BOOST_TEST(outcomes[2].message == "rank 1: first");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(two_failures_at_once_end_everybodys_work, Runner, test::Transports) {
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto outcomes = Runner::run(4, [](auto& link) {
            barrier(link);
            fail_together(link, [&] {
                if (link.rank() % 2 == 1) throw std::runtime_error("bad row " + std::to_string(link.rank()));
                barrier(link);
            });
        });
        test::check_all_threw(outcomes, "bad row ");
        // Whoever was first has its own exception; the other may have met it in the barrier already.
        BOOST_TEST((outcomes[1].message == "bad row 1" || outcomes[3].message == "bad row 3"));
    }
}

}  // namespace
