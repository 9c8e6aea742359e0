// SPDX-License-Identifier: MIT
#include <lockstep/data/shuffled_sampler.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/conformance/sampler.hpp"

namespace {

static_assert(lockstep::Sampler<lockstep::ShuffledSampler>);

using Order = std::vector<std::size_t>;

Order order_of(std::uint64_t seed, std::uint64_t epoch, std::size_t rows) {
    Order order(rows, 99);
    lockstep::ShuffledSampler(seed).fill(order, epoch);
    return order;
}

BOOST_AUTO_TEST_CASE(obeys_the_laws) {
    test::check_visits_every_row([](std::size_t) { return lockstep::ShuffledSampler(3); });
}

BOOST_AUTO_TEST_CASE(orders_are_those_of_an_independent_program) {
    // Philox4x32-10 and Fisher-Yates, written anew in another language.
    BOOST_TEST((order_of(1, 0, 10) == Order{7, 2, 5, 4, 1, 6, 9, 3, 0, 8}));
    BOOST_TEST((order_of(1, 2, 10) == Order{1, 0, 4, 8, 6, 7, 5, 3, 2, 9}));
    BOOST_TEST((order_of(2024, 7, 10) == Order{7, 3, 2, 6, 8, 1, 5, 4, 9, 0}));
}

BOOST_AUTO_TEST_CASE(every_row_comes_once_an_epoch) {
    for (const std::size_t rows : {0U, 1U, 2U, 3U, 100U, 1797U}) {
        for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
            Order order = order_of(3, epoch, rows);
            std::sort(order.begin(), order.end());
            for (std::size_t row = 0; row < rows; ++row) BOOST_REQUIRE(order[row] == row);
        }
    }
}

BOOST_AUTO_TEST_CASE(epochs_and_seeds_have_orders_of_their_own) {
    BOOST_TEST((order_of(3, 0, 50) != order_of(3, 1, 50)));
    BOOST_TEST((order_of(3, 0, 50) != order_of(4, 0, 50)));
    BOOST_TEST((order_of(3, 1, 50) == order_of(3, 1, 50)));
}

BOOST_AUTO_TEST_CASE(every_row_is_as_likely_in_every_place) {
    std::array<std::array<int, 5>, 5> counts{};
    constexpr int epochs = 20'000;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        const Order order = order_of(9, static_cast<std::uint64_t>(epoch), 5);
        for (std::size_t place = 0; place < 5; ++place) ++counts.at(place).at(order[place]);
    }
    // Binomial, n = 20000, p = 1/5: standard deviation 56.6; the bounds are five of them.
    for (const auto& place : counts) {
        for (const int count : place) BOOST_TEST(std::abs(count - epochs / 5) < 283);
    }
}

}  // namespace
