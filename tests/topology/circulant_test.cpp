// SPDX-License-Identifier: MIT
#include <lockstep/topology/circulant.hpp>

#include <bit>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::Circulant;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<Circulant>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    test::check_total_is_least<Circulant>();
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const std::uint64_t elements = 10 * world;
        // Of the W runs of a round, each of which begins at another chunk, all but one shorter than themselves wrap.
        std::uint64_t messages = 0;
        std::uint64_t rounds = 0;
        for (std::uint64_t reach = world; reach > 1; reach = (reach + 1) / 2) {
            const std::uint64_t run = reach / 2;
            messages += 2 * (world + run - 1);
            rounds += 2;
        }
        BOOST_TEST(rounds == 2 * static_cast<std::uint64_t>(std::bit_width(world - 1)));
        BOOST_TEST(test::total_counts<Circulant>(static_cast<int>(world), elements).messages_sent == messages);
        for (const auto& counts : test::counts_of_ranks<Circulant>(static_cast<int>(world), elements)) {
            BOOST_TEST(counts.rounds >= rounds);
            BOOST_TEST(counts.rounds <= 2 * rounds);
            BOOST_TEST(counts.elements_sent == 2 * elements * (world - 1) / world);
        }
    }
}

}  // namespace
