// SPDX-License-Identifier: MIT
#include <lockstep/topology/ring.hpp>

#include "support/conformance/topology.hpp"

namespace {

using lockstep::Ring;

BOOST_AUTO_TEST_CASE(obeys_the_laws) { test::check_topology<Ring>(); }

BOOST_AUTO_TEST_CASE(counts_follow_the_formula) {
    test::check_total_is_least<Ring>();
    for (std::uint64_t world = 2; world <= 64; ++world) {
        const int size = static_cast<int>(world);
        // A length that W divides: every rank sends the optimum, 2 n (W - 1) / W.
        const std::uint64_t elements = world * 10;
        for (int rank = 0; rank < size; ++rank) {
            const auto counts = lockstep::counts_of<Ring>(rank, size, elements);
            BOOST_TEST(counts.rounds == 2 * (world - 1));
            BOOST_TEST(counts.messages_sent == 2 * (world - 1));
            BOOST_TEST(counts.elements_sent == 2 * elements * (world - 1) / world);
            BOOST_TEST(counts.elements_combined == elements * (world - 1) / world);
        }
        // Any length: in total every chunk still crosses W - 1 links in each half.
        BOOST_TEST(test::total_counts<Ring>(size, 997).elements_sent == 2 * 997 * (world - 1));
    }
}

BOOST_AUTO_TEST_CASE(each_rank_owns_its_own_chunk) {
    for (int rank = 0; rank < 5; ++rank) {
        for (int chunk = 0; chunk < 5; ++chunk) BOOST_TEST(Ring::owns(rank, 5, chunk) == (rank == chunk));
    }
}

}  // namespace
