// SPDX-License-Identifier: MIT
#include <lockstep/topology/direct.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::Direct;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<Direct>(); }

}  // namespace
