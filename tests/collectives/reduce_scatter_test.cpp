// SPDX-License-Identifier: MIT
#include <lockstep/collectives/reduce_scatter.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

static_assert(detail::ranks_own_their_shards<Ring>(7) && detail::ranks_own_their_shards<Direct>(7) &&
              detail::ranks_own_their_shards<Circulant>(7));
static_assert(!detail::ranks_own_their_shards<Tree>(3) && !detail::ranks_own_their_shards<HalvingDoubling>(3) &&
              !detail::ranks_own_their_shards<Hierarchical<Ring, Ring, 2>>(4));

template <class Shape, class Operator, class Scalar, class Link>
void expect_own_shard(Link& link, std::size_t length) {
    test::Values<Scalar> values(length, 1);
    test::fill<Operator>(values.span(), link.rank(), link.world_size());
    const std::span<Scalar> own = reduce_scatter<Shape>(link, values.span(), Operator{});
    const Shard shard = shard_of(length, link.rank(), link.world_size());
    test::expect(own.data() == values.span().data() + shard.begin && own.size() == shard.size, "another shard");
    const auto right = [&](std::size_t index) {
        return own[index] == static_cast<Scalar>(test::reduced<Operator>(link.world_size(), shard.begin + index));
    };
    test::expect_each(own.size(), right, Shape::name);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_rank_gets_its_shard_of_the_reduction, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            for (const std::size_t length : test::lengths) {
                expect_own_shard<Ring, Sum, float>(link, length);
                expect_own_shard<Ring, Max, double>(link, length);
                expect_own_shard<Direct, Min, std::int32_t>(link, length);
                expect_own_shard<Circulant, Sum, std::int64_t>(link, length);
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE(every_rank_sends_half_of_what_an_all_reduce_sends) {
    test::check_all_well(test::OverThreads::run(5, [](auto& link) {
        std::vector<float> values(50);
        const Traffic before = link.traffic();
        reduce_scatter(link, std::span(values));
        test::expect(link.traffic().bytes - before.bytes == 40 * sizeof(float), "bytes");
        test::expect(link.traffic().messages - before.messages == 4, "messages");
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lengths_must_agree, Runner, test::Transports) {
    const auto outcomes = Runner::run(3, [](auto& link) {
        barrier(link);
        std::vector<float> values(link.rank() == 0 ? 100 : 200);
        reduce_scatter(link, std::span(values));
    });
    test::check_all_threw(outcomes, "reduce_scatter #1 (sum of 100 float32");
    test::check_all_threw(outcomes, "reduce_scatter #1 (sum of 200 float32");
}

}  // namespace
