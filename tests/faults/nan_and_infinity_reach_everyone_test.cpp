// SPDX-License-Identifier: MIT
// Trial B11: NaN or infinity on one rank.
#include <lockstep/collectives/all_reduce.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "faults/one_weight.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

const auto mean_of_four = [](std::span<float> piece, std::size_t) {
    for (float& value : piece) value /= 4;
};

/// Element i of rank r is [1, NaN, 3, 2] at r + i: the NaN is on another rank for each element.
std::vector<float> rotated(int rank) {
    const std::array<float, 4> values{1, nan, 3, 2};
    std::vector<float> elements;
    for (std::size_t index = 0; index < 4; ++index) {
        elements.push_back(values[(static_cast<std::size_t>(rank) + index) % 4]);
    }
    return elements;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_nan_on_any_rank_is_nan_on_all, Runner, test::EveryTransport) {
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        test::PerRank<std::vector<std::uint32_t>> bits(4);
        test::check_all_well(Runner::run(4, [&](auto& link) {
            const auto check = [&](const std::string& what, auto operation, auto&& action) {
                std::vector<float> values = rotated(link.rank());
                reducer.all_reduce(link, std::span(values), operation, action);
                for (const float value : values) test::expect(std::isnan(value), what);
                for (const std::uint32_t word : test::bits_of(values)) bits[link.rank()].push_back(word);
            };
            check("sum", Sum{}, KeepSum{});
            check("mean", Sum{}, mean_of_four);
            check("min", Min{}, KeepSum{});
            check("max", Max{}, KeepSum{});

            // The next call is not troubled by it.
            std::vector<float> values(4, static_cast<float>(link.rank() + 1));
            reducer.all_reduce(link, std::span(values));
            test::expect(values == std::vector<float>(4, 10.0F), "the next sum");
        }));
        BOOST_TEST(bits.all_are(bits[0]), "ranks hold other NaNs");
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(opposite_infinities_are_nan_as_a_sum_only, Runner, test::EveryTransport) {
    test::check_all_well(Runner::run(4, [](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            const auto reduced = [&](auto operation) {
                const float brought[] = {inf, 1, 2, -inf};
                std::vector<float> values(5, brought[link.rank()]);
                reducer.all_reduce(link, std::span(values), operation);
                const auto same = [&](float value) { return value == values[0] || std::isnan(value); };
                test::expect(std::all_of(values.begin(), values.end(), same), "elements differ");
                return values[0];
            };
            test::expect(std::isnan(reduced(Sum{})), "sum");
            test::expect(reduced(Min{}) == -inf, "min");
            test::expect(reduced(Max{}) == inf, "max");
        });
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_step_with_a_nan_is_the_same_on_all_ranks_and_the_next_one_works, Runner,
                              test::EveryTransport) {
    const std::vector<float> good{1, 2, 3, 4};
    for (std::size_t place = 0; place < 4; ++place) {
        std::vector<float> bad = good;
        bad[place] = nan;
        test::check_all_well(Runner::run(4, [&](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) {
                test::ReplicaOf<test::OneWeight, decltype(link)> replica{test::OneWeight{}, link, reducer};
                const MeanLoss poisoned = replica.backward(test::Inputs{bad});
                // Every rank can decide to skip the step by what it sees, and all decide alike.
                test::expect(std::isnan(poisoned.mean) && poisoned.weight == 4, "loss");
                test::expect(std::isnan(replica.model().slope[0]), "gradient");
                const MeanLoss next = replica.backward(test::Inputs{good});
                test::expect(next.mean == 7.5 && replica.model().slope[0] == 15.0F, "next step");
            });
        }));
    }
}

}  // namespace
