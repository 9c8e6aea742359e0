// SPDX-License-Identifier: MIT
// Trial B27: more ranks than cores, small messages. How long it takes is for benchmarks to say: a busy wait, or a
// message that the network holds back, makes this test crawl.
#include <lockstep/collectives/all_reduce.hpp>

#include <span>
#include <string>

#include <boost/test/unit_test.hpp>

#include "support/any_reducer.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_thousand_sums_of_one_float_on_eight_ranks, Runner, test::EveryTransport) {
    test::check_all_well(Runner::run(8, [](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            for (int call = 0; call < 1000; ++call) {
                float value = static_cast<float>(call + link.rank());
                reducer.all_reduce(link, std::span(&value, 1));
                test::expect(value == static_cast<float>(8 * call + 28), "call " + std::to_string(call));
            }
        });
    }));
}

}  // namespace
