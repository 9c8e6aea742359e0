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

}  // namespace
