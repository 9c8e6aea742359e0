// SPDX-License-Identifier: MIT
// Trial B12: a result that depends on rank or run.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>

#include "support/conformance/reducer.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// What each reducer documents as its order of addition makes of 1e8 + 1 - 1e8 + 1 in float, in which 1e8 + 1 is 1e8.
const std::map<std::string, std::vector<float>> documented{
    // ((0 + 1) + 2) + 3
    {"naive", {1, 1, 1, 1}},
    {"direct", {1, 1, 1, 1}},
    {"fused", {1, 1, 1, 1}},
    // (0 + 1) + (2 + 3)
    {"tree", {0, 0, 0, 0}},
    {"pipelined", {0, 0, 0, 0}},
    {"recursive_doubling", {0, 0, 0, 0}},
    {"hierarchical", {0, 0, 0, 0}},
    // In tree 0, to which the first half of all chunks belongs: 0 + ((2 + 1) + 3)
    {"double_tree", {0, 0, 0, 0}},
    // (0 + 2) + (1 + 3)
    {"circulant", {2, 2, 2, 2}},
    {"halving_doubling", {2, 2, 2, 2}},
    // Chunk c from rank c + 1 round to rank c: 1 - 1e8 + 1 + 1e8, -1e8 + 1 + 1e8 + 1, and so on.
    {"ring", {0, 1, 0, 1}},
};

BOOST_AUTO_TEST_CASE_TEMPLATE(the_order_of_addition_is_the_documented_one_on_all_ranks_in_200_repeats, Runner,
                              test::EveryTransport) {
    const float brought[] = {1e8F, 1, -1e8F, 1};
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        const std::vector<std::uint32_t> expected = test::bits_of(documented.at(reducer.name));
        test::check_all_well(Runner::run(4, [&](auto& link) {
            Random random(3, static_cast<std::uint64_t>(link.rank()));
            for (int repeat = 0; repeat < 200; ++repeat) {
                // Ranks arrive in another order each time.
                for (auto turns = random.below(8); turns > 0; --turns) std::this_thread::yield();
                std::vector<float> values(4, brought[link.rank()]);
                reducer.all_reduce(link, std::span(values));
                test::expect(test::bits_of(values) == expected, reducer.name);
            }
        }));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(in_double_every_order_gives_2, Runner, test::EveryTransport) {
    const double brought[] = {1e8, 1, -1e8, 1};
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            std::vector<double> values(4, brought[link.rank()]);
            reducer.all_reduce(link, std::span(values));
            test::expect(values == std::vector<double>(4, 2.0), reducer.name);
        });
    }));
}

}  // namespace
