// SPDX-License-Identifier: MIT
#include <lockstep/topology/naive.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::Naive;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<Naive>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    test::check_total_is_least<Naive>();
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const int size = static_cast<int>(world);
        const auto total = test::total_counts<Naive>(size, 1000);
        BOOST_TEST(total.messages_sent == 2 * (world - 1));
        BOOST_TEST(total.elements_sent == 2 * (world - 1) * 1000);
        BOOST_TEST(total.elements_combined == (world - 1) * 1000);
        BOOST_TEST(lockstep::counts_of<Naive>(0, size, 1000).rounds == 2 * (world - 1));
        BOOST_TEST(lockstep::counts_of<Naive>(1, size, 1000).rounds == 2U);
    }
}

}  // namespace
