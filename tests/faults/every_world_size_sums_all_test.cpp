// SPDX-License-Identifier: MIT
// Trial B16: a world size that is no power of two.
#include <lockstep/collectives/all_reduce.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/topology/naive.hpp>

#include "support/any_reducer.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// Rank r brings 2^r: a rank that is missing or counted twice shows as a bit.
template <class Scalar, class Link>
std::vector<Scalar> powers(const Link& link) {
    return std::vector<Scalar>(19, static_cast<Scalar>(1 << link.rank()));
}
template <class Scalar>
std::vector<Scalar> all_bits(int world) {
    return std::vector<Scalar>(19, static_cast<Scalar>((1 << world) - 1));
}

template <class Scalar, class Link>
void expect_all_bits(const test::AnyReducer<Link>& reducer, Link& link) {
    auto values = powers<Scalar>(link);
    reducer.all_reduce(link, std::span(values));
    test::expect(values == all_bits<Scalar>(link.world_size()), reducer.name);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_rank_is_in_every_sum_once, Runner, test::EveryTransport) {
    for (int world = 2; world <= 8; ++world) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) {
                expect_all_bits<float>(reducer, link);
                expect_all_bits<std::int32_t>(reducer, link);
            });
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(means_are_right, Runner, test::EveryTransport) {
    const double means[] = {1.5, 7.0 / 3, 3.75, 6.2, 10.5, 127.0 / 7, 31.875};
    for (int world = 2; world <= 8; ++world) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) {
                auto values = powers<float>(link);
                reducer.all_reduce(link, std::span(values), Sum{}, [&](std::span<float> piece, std::size_t) {
                    for (float& value : piece) value /= static_cast<float>(world);
                });
                const double mean = means[world - 2];
                for (const float value : values) {
                    test::expect(std::abs(static_cast<double>(value) - mean) <= 1e-6 * mean, reducer.name);
                }
            });
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(any_rank_can_be_the_root, Runner, test::EveryTransport) {
    for (int world = 2; world <= 8; ++world) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            const auto check = [&]<class Shape>() {
                for (int root = 0; root < world; ++root) {
                    const std::string where = "root " + std::to_string(root) + " of " + std::to_string(world);
                    auto values = powers<float>(link);
                    broadcast<Shape>(link, std::span(values), root);
                    test::expect(values == std::vector<float>(19, static_cast<float>(1 << root)), where);
                    auto sums = powers<float>(link);
                    reduce_to<Shape>(link, std::span(sums), root);
                    test::expect(link.rank() != root || sums == all_bits<float>(world), where);
                }
            };
            check.template operator()<Tree>();
            check.template operator()<Naive>();
        }));
    }
}

}  // namespace
