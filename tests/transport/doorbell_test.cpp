// SPDX-License-Identifier: MIT
#include <lockstep/transport/doorbell.hpp>

#include <atomic>
#include <climits>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Deadline;
using lockstep::Seconds;
using lockstep::detail::Doorbell;

BOOST_AUTO_TEST_CASE(a_condition_that_holds_needs_no_ring) {
    Doorbell bell;
    // Also when the deadline has long passed: what is there is taken.
    for (const int spins : {0, 400}) BOOST_TEST(bell.wait([] { return true; }, spins, Deadline::after(Seconds{0})));
}

BOOST_AUTO_TEST_CASE(a_wait_ends_with_the_deadline) {
    Doorbell bell;
    for (const int spins : {0, 400}) {
        const Deadline deadline = Deadline::after(Seconds{0.02});
        BOOST_TEST(!bell.wait([] { return false; }, spins, deadline));
        BOOST_TEST(deadline.passed());
    }
}

BOOST_AUTO_TEST_CASE(a_ring_without_a_reason_does_not_end_the_wait) {
    Doorbell bell;
    std::atomic<bool> over{false};
    std::thread ringer([&] {
        while (!over.load()) bell.ring();
    });
    const bool met = bell.wait([] { return false; }, 0, Deadline::after(Seconds{0.02}));
    over.store(true);
    ringer.join();
    BOOST_TEST(!met);
}

BOOST_AUTO_TEST_CASE(a_ring_just_before_falling_asleep_is_not_lost) {
    Doorbell bell;
    bool rung = false;
    const auto condition = [&] {
        if (rung) return true;
        // Somebody else makes it true now, and rings: nobody sleeps yet who could hear it.
        rung = true;
        bell.ring();
        return false;
    };
    const Deadline deadline = Deadline::after(Seconds{20});
    BOOST_TEST(bell.wait(condition, 0, deadline));
    BOOST_TEST(!deadline.passed());
}

BOOST_AUTO_TEST_CASE(no_ring_is_lost) {
    // Two threads take turns: one lost wake-up and both wait until the deadline.
    for (const int spins : {0, 400}) {
        Doorbell bells[2];
        std::atomic<int> turn{0};
        std::atomic<int> missed{0};
        const auto play = [&](int player) {
            for (int round = 0; round < 5000; ++round) {
                const bool met =
                    bells[player].wait([&] { return turn.load() % 2 == player; }, spins, Deadline::after(Seconds{20}));
                if (!met) ++missed;
                ++turn;
                bells[1 - player].ring();
            }
        };
        std::thread other(play, 1);
        play(0);
        other.join();
        BOOST_TEST(missed.load() == 0);
        BOOST_TEST(turn.load() == 10'000);
    }
}

BOOST_AUTO_TEST_CASE(many_may_ring_for_one) {
    Doorbell bell;
    std::atomic<int> rung{0};
    std::vector<std::thread> ringers;
    for (int ringer = 0; ringer < 8; ++ringer) {
        ringers.emplace_back([&] {
            ++rung;
            bell.ring();
        });
    }
    BOOST_TEST(bell.wait([&] { return rung.load() == 8; }, 0, Deadline::after(Seconds{20})));
    for (std::thread& ringer : ringers) ringer.join();
}

BOOST_AUTO_TEST_CASE(only_ranks_with_a_core_each_spin) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    if (cores > 0) BOOST_TEST(lockstep::detail::spins_for(cores) > 0);
    BOOST_TEST(lockstep::detail::spins_for(cores + 1) == 0);
    BOOST_TEST(lockstep::detail::spins_for(INT_MAX) == 0);
}

}  // namespace
