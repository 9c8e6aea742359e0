// SPDX-License-Identifier: MIT
#include <lockstep/topology/halving_doubling.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::HalvingDoubling;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<HalvingDoubling>(); }

}  // namespace
