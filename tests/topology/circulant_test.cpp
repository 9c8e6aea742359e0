// SPDX-License-Identifier: MIT
#include <lockstep/topology/circulant.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::Circulant;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<Circulant>(); }

}  // namespace
