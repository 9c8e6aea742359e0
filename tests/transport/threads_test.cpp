// SPDX-License-Identifier: MIT
#include <lockstep/transport/threads.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/conformance/transport.hpp"

namespace {

using lockstep::Threads;

BOOST_AUTO_TEST_CASE(carries_bytes) { test::check_carries<test::OverThreads>(); }
BOOST_AUTO_TEST_CASE(fails_together) { test::check_fails_together<test::OverThreads>(); }

BOOST_AUTO_TEST_CASE(a_world_has_at_least_one_rank) {
    for (const int size : {0, -1}) {
        const auto outcome = test::outcome_of([&] { Threads::world(size); });
        test::check_error(outcome, lockstep::ErrorKind::configuration, {"world_size", std::to_string(size)});
    }
    BOOST_TEST(Threads::world(1).size() == 1U);
}

BOOST_AUTO_TEST_CASE(handles_may_outlive_the_list_they_came_from) {
    const std::vector<test::Outcome> outcomes = [] {
        auto world = std::make_unique<std::vector<Threads>>(Threads::world(2));
        const Threads first = (*world)[0];
        const Threads second = (*world)[1];
        world.reset();
        return test::on_ranks(2, [&](int rank) {
            Threads link = rank == 0 ? first : second;
            test::exchange_message(link, link.begin(test::bytes_request(100)), 1 - rank, 1 - rank, 0, 100);
        });
    }();
    test::check_all_well(outcomes);
}

/// A receiver that is busy folding, and looks at the sender's bytes after the sender has had every chance to go.
struct Slow {
    static inline std::atomic<bool> folding{false};
    static inline std::atomic<bool> failed{false};
    static inline std::atomic<bool> freed{false};
    static inline std::atomic<bool> freed_while_folding{false};
    static inline std::atomic<int> sum{0};

    static void reset() {
        for (auto* flag : {&folding, &failed, &freed, &freed_while_folding}) flag->store(false);
        sum.store(0);
    }
    static void wait_for(const std::atomic<bool>& flag) {
        while (!flag.load()) std::this_thread::yield();
    }
    static void combine(std::byte*, const std::byte* from, std::size_t bytes) noexcept {
        folding.store(true);
        wait_for(failed);
        for (int turn = 0; turn < 10'000 && !freed.load(); ++turn) std::this_thread::yield();
        freed_while_folding.store(freed.load());
        int total = 0;
        for (std::size_t index = 0; index < bytes; ++index) total += std::to_integer<int>(from[index]);
        sum.store(total);
    }
};

/// Rank 0 sends to rank 1, which folds slowly; `third` is rank 2, whose task is to say when the world has failed.
template <class Third>
std::vector<test::Outcome> fold_slowly(lockstep::Seconds timeout, const Third& third) {
    Slow::reset();
    return test::OverThreads::run(
        3,
        [&](Threads& link) {
            const lockstep::Call call = link.begin(test::bytes_request(1000));
            if (link.rank() == 0) {
                const struct Freed {
                    ~Freed() { Slow::freed.store(true); }
                } after_the_bytes;
                const std::vector<std::byte> bytes(1000, std::byte{3});
                link.exchange(call, {1, bytes}, {});
            } else if (link.rank() == 1) {
                std::vector<std::byte> room(1000);
                link.exchange(call, {}, {0, room, &Slow::combine});
            } else {
                Slow::wait_for(Slow::folding);
                third(link);
                Slow::failed.store(true);
            }
            link.begin({});
        },
        timeout);
}

BOOST_AUTO_TEST_CASE(a_sender_that_unwinds_waits_for_whoever_reads_its_memory) {
    const auto outcomes = fold_slowly(lockstep::Seconds{30}, [](Threads& link) {
        link.fail({lockstep::ErrorKind::format, 2, "no more"});
    });
    test::check_all_threw(outcomes, "no more");
    BOOST_TEST(!Slow::freed_while_folding.load());
    BOOST_TEST(Slow::sum.load() == 3000);
}

BOOST_AUTO_TEST_CASE(a_sender_that_times_out_waits_for_whoever_reads_its_memory) {
    const auto outcomes = fold_slowly(lockstep::Seconds{0.1}, [](Threads& link) {
        test::outcome_of([&] { test::exchange_message(link, link.begin({}), -1, 0, 0, 1); });
    });
    test::check_all_threw(outcomes, "has waited 0.1 s for rank");
    BOOST_TEST(!Slow::freed_while_folding.load());
    BOOST_TEST(Slow::sum.load() == 3000);
}

BOOST_AUTO_TEST_CASE(failures_at_any_moment_end_every_rank) {
    // The failing rank gives up after some rounds, in the midst of the others' exchanges.
    for (int round = 0; round < 200; ++round) {
        const auto outcomes = test::OverThreads::run(4, [&](Threads& link) {
            const lockstep::Call call = link.begin(test::bytes_request(4097));
            for (int step = 0;; ++step) {
                if (link.rank() == round % 4 && step == round % 7) throw std::runtime_error("bad row 7");
                test::exchange_message(link, call, test::right_of(link), test::left_of(link), 0, 4097);
            }
        });
        test::check_all_threw(outcomes, "bad row 7");
    }
}

}  // namespace
