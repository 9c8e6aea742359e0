// SPDX-License-Identifier: MIT
#include <lockstep/topology/recursive_doubling.hpp>

#include <bit>
#include <cstdint>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::RecursiveDoubling;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<RecursiveDoubling>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const int size = static_cast<int>(world);
        const std::uint64_t core = std::bit_floor(world);
        const std::uint64_t extras = world - core;
        const auto rounds = static_cast<std::uint64_t>(std::bit_width(core) - 1);
        const auto total = test::total_counts<RecursiveDoubling>(size, 1000);
        // In each round everybody sends everything; an extra rank sends once and is sent to once.
        BOOST_TEST(total.messages_sent == core * rounds + 2 * extras);
        BOOST_TEST(total.elements_sent == 1000 * total.messages_sent);
        BOOST_TEST(total.elements_combined == 1000 * (core * rounds + extras));
        BOOST_TEST(lockstep::counts_of<RecursiveDoubling>(0, size, 1000).rounds == rounds + (extras > 0 ? 2 : 0));
    }
}

}  // namespace
