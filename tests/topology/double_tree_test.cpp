// SPDX-License-Identifier: MIT
#include <lockstep/topology/double_tree.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::DoubleTree;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<DoubleTree>(); }

}  // namespace
