// SPDX-License-Identifier: MIT
#include <lockstep/collectives/barrier.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/schedule.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE_TEMPLATE(nobody_leaves_before_everybody_has_come, Runner, test::Transports) {
    for (const int world : test::worlds) {
        std::atomic<int> arrived{0};
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Random random(7, static_cast<std::uint64_t>(link.rank()));
            for (int round = 1; round <= 50; ++round) {
                // In another order each time.
                for (auto turns = random.below(4); turns > 0; --turns) std::this_thread::yield();
                ++arrived;
                barrier(link);
                const int seen = arrived;
                test::expect(seen >= round * world, "left barrier " + std::to_string(round) + " when only " +
                                                        std::to_string(seen) + " had come");
                // None of the others can be more than one barrier ahead.
                test::expect(seen <= round * world + world - 1, std::to_string(seen) + " had come");
            }
        }));
        BOOST_TEST(arrived == 50 * world);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(its_messages_are_those_of_a_tree_and_empty, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            const Traffic before = link.traffic();
            barrier(link);
            const auto messages = link.traffic().messages - before.messages;
            test::expect(messages == counts_of<Tree>(link.rank(), world, 0).messages_sent, "other messages");
            test::expect(link.traffic().bytes == before.bytes, "bytes were sent");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_barrier_met_by_another_call_is_an_error_on_all_ranks, Runner, test::Transports) {
    for (const int world : {2, 3, 5}) {
        const auto outcomes = Runner::run(world, [&](auto& link) {
            barrier(link);
            float value = 0;
            if (link.rank() == 1) Executor<Tree>().all_reduce(link, std::span(&value, 1));
            else barrier(link);
        });
        test::check_all_threw(outcomes, "barrier #1");
        test::check_all_threw(outcomes, "all_reduce #1 (sum of 1 float32, 4 bytes, tree)");
        for (const auto& outcome : outcomes) BOOST_TEST((outcome.kind == ErrorKind::transport));
    }
}

BOOST_AUTO_TEST_CASE(alone_one_does_not_wait) {
    Solo link;
    barrier(link);
    BOOST_TEST((link.traffic() == Traffic{}));
}

}  // namespace
