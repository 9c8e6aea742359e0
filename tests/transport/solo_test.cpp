// SPDX-License-Identifier: MIT
#include <lockstep/transport/solo.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Solo;

static_assert(lockstep::Transport<Solo>);
static_assert(Solo::rank() == 0 && Solo::world_size() == 1);
static_assert(Solo::traffic() == lockstep::Traffic{});

using Topologies = boost::mpl::list<lockstep::Naive, lockstep::Tree, lockstep::Ring>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_sum_over_one_rank_is_that_ranks_bits, Shape, Topologies) {
    // +0, -0, the smallest denormal, 1, infinity, a quiet NaN with a payload and sign.
    const std::array<std::uint32_t, 6> bits{0x00000000U, 0x80000000U, 0x00000001U,
                                            0x3F800000U, 0x7F800000U, 0xFFC12345U};
    std::array<float, 6> values{};
    for (std::size_t index = 0; index < bits.size(); ++index) values[index] = std::bit_cast<float>(bits[index]);
    Solo link;
    lockstep::all_reduce<Shape>(link, std::span<float>(values));
    for (std::size_t index = 0; index < bits.size(); ++index) {
        BOOST_TEST(std::bit_cast<std::uint32_t>(values[index]) == bits[index]);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_owner_acts_on_the_whole_buffer_once, Shape, Topologies) {
    std::array<double, 5> values{1, 2, 3, 4, 5};
    Solo link;
    int calls = 0;
    lockstep::all_reduce<Shape>(link, std::span<double>(values), lockstep::Sum{},
                                [&](std::span<double> piece, std::size_t first) {
                                    ++calls;
                                    BOOST_TEST(piece.size() == 5U);
                                    BOOST_TEST(first == 0U);
                                    for (double& value : piece) value *= 2;
                                });
    BOOST_TEST(calls == 1);
    BOOST_TEST((values == std::array<double, 5>{2, 4, 6, 8, 10}));
}

BOOST_AUTO_TEST_CASE(failing_changes_nothing_for_nobody_is_there_to_be_told) {
    Solo link;
    link.fail({lockstep::ErrorKind::shape, 0, "never mind"});
    const lockstep::Request request{.operation = lockstep::Operation::broadcast, .elements = 3};
    BOOST_TEST((link.begin(request).request == request));
}

}  // namespace
