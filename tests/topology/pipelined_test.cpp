// SPDX-License-Identifier: MIT
#include <lockstep/topology/pipelined.hpp>

#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/conformance/topology.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(obeys_the_laws) {
    test::check_topology<Pipelined<Tree>>();
    test::check_topology<Pipelined<Tree, 1>>();
    test::check_topology<Pipelined<Naive, 3>>();
    test::check_topology<Pipelined<Ring, 2>>();
    test::check_topology<Pipelined<RecursiveDoubling, 4>>();
    test::check_topology<Pipelined<Direct, 2>>();
}

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    test::check_total_is_least<Pipelined<Tree>>();
    using TwoRings = Pipelined<Ring, 2>;
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const int size = static_cast<int>(world);
        BOOST_TEST(test::total_counts<Pipelined<Tree>>(size, 1000).messages_sent == 8 * 2 * (world - 1));
        BOOST_TEST(test::total_counts<TwoRings>(size, 1000).messages_sent == 2 * 2 * world * (world - 1));
    }
}

}  // namespace
