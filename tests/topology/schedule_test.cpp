// SPDX-License-Identifier: MIT
#include <lockstep/topology/schedule.hpp>

#include <lockstep/topology/tree.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Half;
using lockstep::Shard;
using lockstep::Tree;

BOOST_AUTO_TEST_CASE(a_schedule_lists_each_ranks_steps) {
    const auto reduce = lockstep::schedule_of<Tree>(Half::reduce, 4);
    BOOST_REQUIRE(reduce.size() == 4U);
    BOOST_TEST(reduce[0].size() == 2U);
    BOOST_TEST(reduce[1].size() == 1U);
    BOOST_TEST(reduce[2].size() == 2U);
    BOOST_TEST(reduce[3].size() == 1U);
    BOOST_TEST(reduce[3][0].send.peer == 2);
    BOOST_TEST(reduce[2][1].send.peer == 0);
    const auto distribute = lockstep::schedule_of<Tree>(Half::distribute, 4);
    BOOST_TEST(distribute[0][0].send.peer == 2);
    BOOST_TEST(distribute[3][0].receive.peer == 2);
}

BOOST_AUTO_TEST_CASE(chunks_are_cut_like_shards) {
    BOOST_TEST((lockstep::elements_of({0, 1, 2}, 10, 4) == Shard{3, 5}));
    BOOST_TEST((lockstep::elements_of({0, 0, 4}, 10, 4) == Shard{0, 10}));
    BOOST_TEST((lockstep::elements_of({0, 3, 1}, 3, 4) == Shard{3, 0}));
    BOOST_TEST((lockstep::elements_of({}, 10, 4) == Shard{0, 0}));
}

BOOST_AUTO_TEST_CASE(sizes_beyond_32_bits_survive_the_arithmetic) {
    const std::size_t elements = (std::size_t{1} << 29) + 1;  // of floats: 2,147,483,652 bytes
    const Shard last = lockstep::elements_of({0, 2, 1}, elements * 8, 3);
    BOOST_TEST(last.end() == elements * 8);
    BOOST_TEST(last.size == elements * 8 / 3);
}

}  // namespace
