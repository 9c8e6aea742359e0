// SPDX-License-Identifier: MIT
/// @file
/// The laws of a Topology: a new one's test calls these two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/topology/schedule.hpp>
#include <lockstep/topology/verify.hpp>

#include <boost/test/unit_test.hpp>

namespace test {

/// Correct for every world size to 64; every chunk has an owner; a world of one does nothing.
template <lockstep::Topology Shape>
void check_topology() {
    static_assert(lockstep::verified_to<Shape>(5));
    for (int world = 1; world <= 64; ++world) {
        const lockstep::Verdict verdict = lockstep::verify<Shape>(world);
        BOOST_TEST(static_cast<bool>(verdict), Shape::name << ", world " << world << ": " << verdict.text());
    }
    BOOST_TEST((lockstep::counts_of<Shape>(0, 1, 100) == lockstep::Counts{}));
}

/// Totals over all ranks, for tests against closed forms.
template <lockstep::Topology Shape>
lockstep::Counts total_counts(int world, std::size_t elements) {
    lockstep::Counts total;
    for (int rank = 0; rank < world; ++rank) {
        const lockstep::Counts counts = lockstep::counts_of<Shape>(rank, world, elements);
        total.rounds += counts.rounds;
        total.messages_sent += counts.messages_sent;
        total.elements_sent += counts.elements_sent;
        total.elements_combined += counts.elements_combined;
    }
    return total;
}

/// Every rank's counts.
template <lockstep::Topology Shape>
std::vector<lockstep::Counts> counts_of_ranks(int world, std::size_t elements) {
    std::vector<lockstep::Counts> counts;
    for (int rank = 0; rank < world; ++rank) counts.push_back(lockstep::counts_of<Shape>(rank, world, elements));
    return counts;
}

/// Of topologies that bring every chunk to one owner and back: along W - 1 links each way, added once on each.
template <lockstep::Topology Shape>
void check_total_is_least() {
    for (std::uint64_t world = 2; world <= 64; ++world) {
        for (const std::uint64_t elements : {0U, 1U, 997U, 6400U}) {
            const auto total = total_counts<Shape>(static_cast<int>(world), elements);
            BOOST_TEST(total.elements_sent == 2 * elements * (world - 1));
            BOOST_TEST(total.elements_combined == elements * (world - 1));
        }
    }
}

}  // namespace test
