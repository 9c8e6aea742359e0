// SPDX-License-Identifier: MIT
#include <lockstep/topology/recursive_doubling.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::RecursiveDoubling;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<RecursiveDoubling>(); }

}  // namespace
