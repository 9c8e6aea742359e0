// SPDX-License-Identifier: MIT
#include <lockstep/topology/halving_doubling.hpp>

#include <bit>
#include <cstdint>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::HalvingDoubling;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<HalvingDoubling>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const int size = static_cast<int>(world);
        const std::uint64_t core = std::bit_floor(world);
        const std::uint64_t extras = world - core;
        const auto rounds = static_cast<std::uint64_t>(std::bit_width(core) - 1);
        const std::uint64_t elements = 10 * core;
        const auto total = test::total_counts<HalvingDoubling>(size, elements);
        BOOST_TEST(total.messages_sent == 2 * core * rounds + 2 * extras);
        // In the core, the least that any all-reduce can do; an extra rank sends everything once, and is sent it once.
        BOOST_TEST(total.elements_sent == 2 * elements * (core - 1) + 2 * elements * extras);
        BOOST_TEST(total.elements_combined == elements * (core - 1) + elements * extras);
        BOOST_TEST(lockstep::counts_of<HalvingDoubling>(0, size, elements).rounds == 2 * rounds + (extras > 0 ? 2 : 0));
    }
}

}  // namespace
