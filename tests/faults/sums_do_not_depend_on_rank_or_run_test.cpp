// SPDX-License-Identifier: MIT
// Trial B12: a result that depends on rank or run.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// What each reducer documents as its order of addition makes of 1e8 + 1 - 1e8 + 1 in float, in which 1e8 + 1 is 1e8.
template <class Strategy>
std::vector<float> documented();
template <>
std::vector<float> documented<Naive>() {
    return {1, 1, 1, 1};  // ((0 + 1) + 2) + 3
}
template <>
std::vector<float> documented<Tree>() {
    return {0, 0, 0, 0};  // (0 + 1) + (2 + 3)
}
template <>
std::vector<float> documented<Ring>() {
    return {0, 1, 0, 1};  // Chunk c from rank c + 1 round to rank c: 1 - 1e8 + 1 + 1e8, -1e8 + 1 + 1e8 + 1, and so on.
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_order_of_addition_is_the_documented_one_on_all_ranks_in_200_repeats, Runner,
                              test::Transports) {
    const float brought[] = {1e8F, 1, -1e8F, 1};
    test::for_each_reducer([&]<class Strategy>() {
        const std::vector<std::uint32_t> expected = test::bits_of(documented<Strategy>());
        test::check_all_well(Runner::run(4, [&](auto& link) {
            Random random(3, static_cast<std::uint64_t>(link.rank()));
            for (int repeat = 0; repeat < 200; ++repeat) {
                // Ranks arrive in another order each time.
                for (auto turns = random.below(8); turns > 0; --turns) std::this_thread::yield();
                std::vector<float> values(4, brought[link.rank()]);
                all_reduce<Strategy>(link, std::span(values));
                test::expect(test::bits_of(values) == expected, Strategy::name);
            }
        }));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(in_double_every_order_gives_2, Runner, test::Transports) {
    const double brought[] = {1e8, 1, -1e8, 1};
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer([&]<class Strategy>() {
            std::vector<double> values(4, brought[link.rank()]);
            all_reduce<Strategy>(link, std::span(values));
            test::expect(values == std::vector<double>(4, 2.0), Strategy::name);
        });
    }));
}

}  // namespace
