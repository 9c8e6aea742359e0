// SPDX-License-Identifier: MIT
#include <lockstep/topology/hierarchical.hpp>

#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/conformance/topology.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(obeys_the_laws) {
    test::check_topology<Hierarchical<Ring, Ring, 1>>();
    test::check_topology<Hierarchical<Ring, Ring, 2>>();
    test::check_topology<Hierarchical<Ring, Tree, 3>>();
    test::check_topology<Hierarchical<Ring, RecursiveDoubling, 4>>();
    test::check_topology<Hierarchical<Tree, Ring, 4>>();
    test::check_topology<Hierarchical<Naive, HalvingDoubling, 8>>();
    test::check_topology<Hierarchical<HalvingDoubling, Circulant, 5>>();
    test::check_topology<Hierarchical<Direct, Direct, 4>>();
    test::check_topology<Hierarchical<Circulant, DoubleTree, 3>>();
    test::check_topology<Hierarchical<Ring, Ring, 100>>();
}

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    using Rings = Hierarchical<Ring, Ring, 4>;
    test::check_total_is_least<Rings>();
    for (std::uint64_t groups = 1; groups <= 16; ++groups) {
        const std::uint64_t world = 4 * groups;
        const std::uint64_t elements = 10 * world;
        for (const auto& counts : test::counts_of_ranks<Rings>(static_cast<int>(world), elements)) {
            BOOST_TEST(counts.rounds == 2 * 3 + 2 * (groups - 1));
            BOOST_TEST(counts.messages_sent == 2 * 3 + 2 * (groups - 1));
            BOOST_TEST(counts.elements_sent == 2 * elements * (world - 1) / world);
        }
    }
}

}  // namespace
