// SPDX-License-Identifier: MIT
#include <lockstep/collectives/all_gather.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/reduce_scatter.hpp>
#include <lockstep/topology/direct.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

template <class Shape, class Scalar, class Link>
void expect_all(Link& link, std::size_t length) {
    test::Values<Scalar> values(length, 1);
    const auto at = [](std::size_t index) { return static_cast<Scalar>(index % 200 + 1); };
    const Shard own = shard_of(length, link.rank(), link.world_size());
    for (std::size_t index = own.begin; index < own.end(); ++index) values.span()[index] = at(index);
    all_gather<Shape>(link, values.span());
    test::expect_each(
        length, [&](std::size_t index) { return values.span()[index] == at(index); }, Shape::name);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(everyone_gets_everyones_shard, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            for (const std::size_t length : test::lengths) {
                expect_all<Ring, float>(link, length);
                expect_all<Ring, std::uint8_t>(link, length);
                expect_all<Direct, double>(link, length);
                expect_all<Circulant, std::int64_t>(link, length);
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(after_reduce_scatter_it_completes_an_all_reduce, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            std::vector<float> whole(101);
            for (std::size_t index = 0; index < whole.size(); ++index) whole[index] = test::rough(link.rank(), index);
            std::vector<float> parts = whole;
            all_reduce<Direct>(link, std::span(whole));
            reduce_scatter<Direct>(link, std::span(parts));
            all_gather<Direct>(link, std::span(parts));
            test::expect(test::bits_of(whole) == test::bits_of(parts), "other bits");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gather_gives_every_value_by_rank, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            // Bits are carried, not sums: NaN, and the sign of zero.
            const double own = link.rank() == 0 ? -0.0 : 1.0 / link.rank();
            const std::vector<double> values = gather(link, own);
            test::expect(values.size() == static_cast<std::size_t>(world), "size");
            test::expect(std::bit_cast<std::uint64_t>(values[0]) == std::uint64_t{1} << 63, "the sign of zero");
            for (int rank = 1; rank < world; ++rank) {
                test::expect(values[static_cast<std::size_t>(rank)] == 1.0 / rank, "a value");
            }
            const auto flags = gather(link, static_cast<std::uint8_t>(link.rank() == world - 1));
            test::expect(flags.back() == 1 && (world == 1 || flags.front() == 0), "flags");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lengths_must_agree, Runner, test::Transports) {
    const auto outcomes = Runner::run(3, [](auto& link) {
        barrier(link);
        std::vector<float> values(link.rank() == 0 ? 100 : 200);
        all_gather(link, std::span(values));
    });
    test::check_all_threw(outcomes, "all_gather #1 (100 float32");
    test::check_all_threw(outcomes, "all_gather #1 (200 float32");
}

}  // namespace
