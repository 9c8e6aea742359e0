// SPDX-License-Identifier: MIT
// The main() of every test program; compiled once, linked into all.
#define BOOST_TEST_MODULE lockstep
#include <boost/test/unit_test.hpp>
