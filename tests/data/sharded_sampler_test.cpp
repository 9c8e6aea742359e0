// SPDX-License-Identifier: MIT
#include <lockstep/data/sharded_sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/data/shuffled_sampler.hpp>

#include "support/conformance/sampler.hpp"
#include "support/messages.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(ranks_take_places_in_turn) {
    BOOST_TEST((ShardedSampler{SequentialSampler{}, 0, 4}.rows(10, 0) == std::vector<std::size_t>{0, 4, 8}));
    BOOST_TEST((ShardedSampler{SequentialSampler{}, 1, 4}.rows(10, 0) == std::vector<std::size_t>{1, 5, 9}));
    BOOST_TEST((ShardedSampler{SequentialSampler{}, 3, 4}.rows(10, 0) == std::vector<std::size_t>{3, 7}));
    BOOST_TEST((ShardedSampler{SequentialSampler{}, 3, 4}.rows(3, 0).empty()));
}

BOOST_AUTO_TEST_CASE(every_row_is_on_one_rank) {
    for (const int world : test::worlds) {
        for (const std::size_t rows : test::sampled_rows) {
            for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
                std::vector<int> visits(rows);
                std::size_t fewest = rows;
                std::size_t most = 0;
                for (int rank = 0; rank < world; ++rank) {
                    const auto own = ShardedSampler{ShuffledSampler{5}, rank, world}.rows(rows, epoch);
                    for (const std::size_t row : own) ++visits.at(row);
                    fewest = std::min(fewest, own.size());
                    most = std::max(most, own.size());
                }
                for (const int each : visits) BOOST_REQUIRE(each == 1);
                BOOST_TEST(most - fewest <= 1U);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(local_batches_make_the_global_one) {
    // Two rows a rank at a time are the rows of global batches of six.
    std::vector<std::size_t> order(20);
    ShuffledSampler{7}.fill(order, 3);
    for (int rank = 0; rank < 3; ++rank) {
        const auto own = ShardedSampler{ShuffledSampler{7}, rank, 3}.rows(20, 3);
        for (std::size_t at = 0; at < own.size(); ++at) {
            const auto batch = order.begin() + static_cast<std::ptrdiff_t>(at / 2 * 6);
            const auto end = order.begin() + std::min<std::ptrdiff_t>(20, static_cast<std::ptrdiff_t>(at / 2 * 6 + 6));
            BOOST_TEST((std::find(batch, end, own[at]) != end));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_outside_the_world_is_named) {
    for (const int rank : {-1, 3, 4}) {
        test::check_error(test::outcome_of([&] { ShardedSampler(SequentialSampler{}, rank, 3).rows(1, 0); }),
                          ErrorKind::configuration, {"no rank " + std::to_string(rank) + " of 3"});
    }
}

}  // namespace
