// SPDX-License-Identifier: MIT
#include <lockstep/topology/direct.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::Direct;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<Direct>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    test::check_total_is_least<Direct>();
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const std::uint64_t elements = 10 * world;
        for (const auto& counts : test::counts_of_ranks<Direct>(static_cast<int>(world), elements)) {
            BOOST_TEST(counts.rounds == 2 * (world - 1));
            BOOST_TEST(counts.messages_sent == 2 * (world - 1));
            BOOST_TEST(counts.elements_sent == 2 * elements * (world - 1) / world);
        }
    }
}

}  // namespace
