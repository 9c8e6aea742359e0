// SPDX-License-Identifier: MIT
#include <lockstep/core/shard.hpp>

#include <climits>
#include <cstddef>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::ConfigurationError;
using lockstep::Shard;
using lockstep::shard_of;

static_assert(shard_of(10, 0, 4) == Shard{0, 3} && shard_of(10, 1, 4) == Shard{3, 3});
static_assert(shard_of(10, 2, 4) == Shard{6, 2} && shard_of(10, 3, 4) == Shard{8, 2});
static_assert(Shard{3, 4}.end() == 7);

auto says(const std::string& text) {
    return [text](const std::exception& error) { return std::string(error.what()) == text; };
}

BOOST_AUTO_TEST_CASE(rows_are_dealt_one_after_another) {
    for (int world = 1; world <= 40; ++world) {
        for (std::size_t rows = 0; rows <= 130; ++rows) {
            // The oracle deals single rows round the table, then lays the piles end to end.
            std::vector<std::size_t> piles(static_cast<std::size_t>(world));
            for (std::size_t row = 0; row < rows; ++row) ++piles[row % piles.size()];
            std::size_t begin = 0;
            for (int rank = 0; rank < world; ++rank) {
                const std::size_t size = piles[static_cast<std::size_t>(rank)];
                BOOST_REQUIRE((shard_of(rows, rank, world) == Shard{begin, size}));
                begin += size;
            }
            BOOST_REQUIRE(begin == rows);
        }
    }
}

BOOST_AUTO_TEST_CASE(numbers_beyond_int_do_not_wrap) {
    constexpr auto huge = static_cast<std::size_t>(-1);
    BOOST_TEST((shard_of(huge, 0, 1) == Shard{0, huge}));
    BOOST_TEST(shard_of(huge, INT_MAX - 1, INT_MAX).end() == huge);
    BOOST_TEST(shard_of(huge, 1, 2).end() == huge);
    BOOST_TEST(shard_of(huge, 0, 2).size - shard_of(huge, 1, 2).size == 1U);
    BOOST_TEST((shard_of(3, INT_MAX - 1, INT_MAX) == Shard{3, 0}));
}

BOOST_AUTO_TEST_CASE(the_error_names_the_bad_argument) {
    BOOST_CHECK_EXCEPTION(shard_of(10, 0, 0), ConfigurationError, says("world_size must be at least 1, not 0"));
    BOOST_CHECK_EXCEPTION(shard_of(10, 0, -3), ConfigurationError, says("world_size must be at least 1, not -3"));
    // Both are wrong: the world is to blame, for no rank could be right.
    BOOST_CHECK_EXCEPTION(shard_of(10, 5, 0), ConfigurationError, says("world_size must be at least 1, not 0"));
    BOOST_CHECK_EXCEPTION(shard_of(10, 4, 4), ConfigurationError, says("rank 4 is outside a world of size 4"));
    BOOST_CHECK_EXCEPTION(shard_of(10, -1, 4), ConfigurationError, says("rank -1 is outside a world of size 4"));
    BOOST_CHECK_THROW(shard_of(0, 1, 1), ConfigurationError);
    BOOST_TEST((shard_of(0, 3, 4) == Shard{0, 0}));
}

}  // namespace
