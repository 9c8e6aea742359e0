// SPDX-License-Identifier: MIT
#include <lockstep/topology/schedule.hpp>

#include <cstdint>

#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(a_schedule_lists_each_ranks_steps) {
    const auto reduce = schedule_of<Tree>(Half::reduce, 4);
    BOOST_REQUIRE(reduce.size() == 4U);
    BOOST_TEST(reduce[0].size() == 2U);
    BOOST_TEST(reduce[1].size() == 1U);
    BOOST_TEST(reduce[2].size() == 2U);
    BOOST_TEST(reduce[3].size() == 1U);
    BOOST_TEST(reduce[3][0].send.peer == 2);
    BOOST_TEST(reduce[2][1].send.peer == 0);
    const auto distribute = schedule_of<Tree>(Half::distribute, 4);
    BOOST_TEST(distribute[0][0].send.peer == 2);
    BOOST_TEST(distribute[3][0].receive.peer == 2);
}

BOOST_AUTO_TEST_CASE(chunks_are_cut_like_shards) {
    BOOST_TEST((elements_of({0, 1, 2}, 10, 4) == Shard{3, 5}));
    BOOST_TEST((elements_of({0, 0, 4}, 10, 4) == Shard{0, 10}));
    BOOST_TEST((elements_of({0, 3, 1}, 3, 4) == Shard{3, 0}));
    BOOST_TEST((elements_of({}, 10, 4) == Shard{0, 0}));
}

BOOST_AUTO_TEST_CASE(sizes_beyond_32_bits_survive_the_arithmetic) {
    const std::size_t elements = (std::size_t{1} << 29) + 1;  // of floats: 2,147,483,652 bytes
    const Shard last = elements_of({0, 2, 1}, elements * 8, 3);
    BOOST_TEST(last.end() == elements * 8);
    BOOST_TEST(last.size == elements * 8 / 3);
}

BOOST_AUTO_TEST_CASE(longer_buffers_have_more_segments) {
    BOOST_TEST(segments_of<Ring>(4, 0) == 1);
    BOOST_TEST(segments_of<Ring>(4, 4 * longest_chunk) == 1);
    BOOST_TEST(segments_of<Ring>(4, 4 * longest_chunk + 1) == 2);
    BOOST_TEST(segments_of<Ring>(8, 4 * longest_chunk + 1) == 1);
    const std::uint64_t elements = 3 * 4 * longest_chunk + 7;
    std::uint64_t sent = 0;
    for (int segment = 0; segment < 4; ++segment)
        sent += counts_of<Ring>(1, 4, shard_of(elements, segment, 4).size).elements_sent;
    const Counts counts = counts_of<Ring>(1, 4, elements);
    BOOST_TEST(counts.elements_sent == sent);
    BOOST_TEST(counts.messages_sent == 4U * 6);
    BOOST_TEST(counts.rounds == 4U * 6);
}

}  // namespace
