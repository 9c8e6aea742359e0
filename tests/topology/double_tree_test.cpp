// SPDX-License-Identifier: MIT
#include <lockstep/topology/double_tree.hpp>

#include <bit>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::DoubleTree;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<DoubleTree>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    test::check_total_is_least<DoubleTree>();
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const int size = static_cast<int>(world);
        constexpr std::uint64_t pieces = DoubleTree::pieces;
        // Two trees of W - 1 edges, each of which every piece of its tree crosses once in each half.
        BOOST_TEST(test::total_counts<DoubleTree>(size, 1000).messages_sent == 2 * 2 * pieces * (world - 1));
        const auto height = static_cast<std::uint64_t>(std::bit_width(world));
        for (const auto& counts : test::counts_of_ranks<DoubleTree>(size, 1600)) {
            BOOST_TEST(counts.rounds <= 2 * 2 * (pieces + height));
            // Inside one tree with two children, outside the other: no rank sends much more than all it has, each way.
            BOOST_TEST(counts.elements_sent <= 2 * 1600U);
        }
    }
}

}  // namespace
