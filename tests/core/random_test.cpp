// SPDX-License-Identifier: MIT
#include <lockstep/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Random;
using Words = std::array<std::uint32_t, 4>;

// The known answers published with the paper (Random123, kat_vectors, philox4x32-10).
static_assert(lockstep::philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(lockstep::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(lockstep::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

static_assert(std::uniform_random_bit_generator<Random>);

BOOST_AUTO_TEST_CASE(a_stream_is_a_function_of_its_position) {
    Random stream(7, 3);
    const Random still(7, 3);
    for (std::uint64_t position = 0; position < 9; ++position) BOOST_TEST(stream() == still.at(position));
}

BOOST_AUTO_TEST_CASE(seeds_and_streams_differ) {
    BOOST_TEST(Random(1, 0).at(0) != Random(2, 0).at(0));
    BOOST_TEST(Random(1, 0).at(0) != Random(1, 1).at(0));
}

BOOST_AUTO_TEST_CASE(uniform_numbers_have_the_right_moments) {
    Random stream(1);
    double sum = 0;
    double squares = 0;
    constexpr int count = 100'000;
    for (int draw = 0; draw < count; ++draw) {
        const double value = stream.uniform(-1, 3);
        BOOST_REQUIRE(value >= -1);
        BOOST_REQUIRE(value < 3);
        sum += value;
        squares += value * value;
    }
    // Mean 1, variance 16/12; the bounds are five standard errors.
    BOOST_TEST(std::abs(sum / count - 1) < 5 * std::sqrt(16.0 / 12 / count));
    BOOST_TEST(std::abs(squares / count - 1 - 16.0 / 12) < 0.03);
}

BOOST_AUTO_TEST_CASE(normal_numbers_have_the_right_moments) {
    Random stream(2);
    double sum = 0;
    double squares = 0;
    constexpr int count = 100'000;
    for (int draw = 0; draw < count; ++draw) {
        const double value = stream.normal();
        BOOST_REQUIRE(std::isfinite(value));
        sum += value;
        squares += value * value;
    }
    BOOST_TEST(std::abs(sum / count) < 5 / std::sqrt(double{count}));
    BOOST_TEST(std::abs(squares / count - 1) < 5 * std::sqrt(2.0 / count));
}

BOOST_AUTO_TEST_CASE(below_is_unbiased_and_bounded) {
    BOOST_TEST(Random(1).below(0) == 0U);
    BOOST_TEST(Random(1).below(1) == 0U);
    Random stream(5);
    std::array<int, 6> counts{};
    for (int draw = 0; draw < 60'000; ++draw) ++counts.at(static_cast<std::size_t>(stream.below(6)));
    // Five standard deviations of a binomial with n = 60000, p = 1/6.
    for (const int count : counts) BOOST_TEST(std::abs(count - 10'000) < 5 * std::sqrt(60'000.0 * 5 / 36));
}

BOOST_AUTO_TEST_CASE(shuffle_permutes) {
    std::vector<int> values(100);
    std::iota(values.begin(), values.end(), 0);
    auto shuffled = values;
    lockstep::shuffle(std::span(shuffled), Random(3));
    BOOST_TEST(shuffled != values);
    auto again = values;
    lockstep::shuffle(std::span(again), Random(3));
    BOOST_TEST(shuffled == again);
    std::sort(shuffled.begin(), shuffled.end());
    BOOST_TEST(shuffled == values);
    lockstep::shuffle(std::span<int>(), Random(3));
}

}  // namespace
