// SPDX-License-Identifier: MIT
// Trial B14: denormals and signed zeros that get lost.
#include <lockstep/collectives/all_reduce.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "faults/one_weight.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

using namespace lockstep;

const auto mean_of_four = [](std::span<float> piece, std::size_t) {
    for (float& value : piece) value /= 4;
};

/// Four ranks hold `bits` in every element: the bits of the mean, the same on all of them.
template <class Runner>
void check_mean(std::uint32_t bits, std::uint32_t expected) {
    // Enough for vectors, and a rest.
    constexpr std::size_t length = 70;
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            std::vector<float> values(length, std::bit_cast<float>(bits));
            reducer.all_reduce(link, std::span(values), Sum{}, mean_of_four);
            test::expect(test::bits_of(values) == std::vector<std::uint32_t>(length, expected), reducer.name);
        });
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_mean_of_the_least_denormal_is_itself, Runner, test::EveryTransport) {
    // To divide before adding would give 0.
    check_mean<Runner>(0x00000001, 0x00000001);
    check_mean<Runner>(0x80000001, 0x80000001);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_mean_of_minus_zero_is_minus_zero, Runner, test::EveryTransport) {
    check_mean<Runner>(0x80000000, 0x80000000);
    check_mean<Runner>(0x00000000, 0x00000000);
}

/// A gradient of the same bits for every row.
struct Constant {
    using scalar_type = float;
    std::array<float, 1> value{};
    std::array<float, 1> slope{};
    std::uint32_t bits;

    std::span<float> parameters() { return value; }
    std::span<float> gradients() { return slope; }
    Manifest manifest() const { return {{"value", {1}}}; }
    LossSum backward(const test::Inputs& rows) {
        for (std::size_t row = 0; row < rows.rows(); ++row) slope[0] += std::bit_cast<float>(bits);
        return {0, static_cast<double>(rows.rows())};
    }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(a_denormal_gradient_is_averaged_not_flushed, Runner, test::EveryTransport) {
    const std::vector<float> rows(4);
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            test::ReplicaOf<Constant, decltype(link)> replica{Constant{.bits = 1}, link, reducer};
            replica.backward(test::Inputs{rows});
            test::expect(std::bit_cast<std::uint32_t>(replica.model().slope[0]) == 1, reducer.name);
        });
    }));
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_flushes_to_zero_keeps_its_mode_and_all_keep_the_same_bits, Runner,
                              test::EveryTransport) {
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        test::PerRank<std::vector<std::uint32_t>> bits(4);
        test::check_all_well(Runner::run(4, [&](auto& link) {
            const unsigned flush = link.rank() == 0 ? 0x8040U : 0U;  // results and operands
            _mm_setcsr((_mm_getcsr() & ~0x8040U) | flush);
            for (const std::uint32_t word : {0x00000001U, 0x80000001U, 0x00400000U}) {
                std::vector<float> values(70, std::bit_cast<float>(word));
                reducer.all_reduce(link, std::span(values), Sum{}, mean_of_four);
                for (const std::uint32_t result : test::bits_of(values)) bits[link.rank()].push_back(result);
            }
            test::expect((_mm_getcsr() & 0x8040U) == flush, "the mode has changed");
        }));
        BOOST_TEST(bits.all_are(bits[0]), reducer.name << " lets ranks differ");
        // Mean of four equal values: nothing was flushed, on any rank.
        BOOST_TEST(std::count(bits[0].begin(), bits[0].end(), 0x00400000U) == 70, reducer.name);
        BOOST_TEST(std::count(bits[0].begin(), bits[0].end(), 0x00000001U) == 70, reducer.name);
    });
}
#endif

}  // namespace
