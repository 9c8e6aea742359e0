// SPDX-License-Identifier: MIT
// Trial B17: lengths that differ between ranks in one call.
#include <lockstep/collectives/all_reduce.hpp>

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/fused.hpp>

#include "support/conformance/reducer.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;
using SharedAddressSpaces = boost::mpl::list<test::OverThreads, test::OverSharedMemory>;

/// Counts itself while it lives.
struct Guest {
    std::atomic<int>& present;
    explicit Guest(std::atomic<int>& counter) : present(counter) { ++present; }
    ~Guest() { --present; }
};

template <class Runner, class Reducer>
void check_difference(const Reducer& reducer, int world, std::size_t first, std::size_t others) {
    std::atomic<int> present{0};
    const auto outcomes = Runner::run(
        world,
        [&](auto& link) {
            const Guest guest(present);
            barrier(link);
            std::vector<float> values(link.rank() == 0 ? first : others);
            const auto outcome = test::outcome_of([&] { reducer.all_reduce(link, std::span(values)); });
            test::expect(outcome.threw, "no error");
            // From now on every call fails, at once and for the same reason.
            const auto next = test::outcome_of([&] { barrier(link); });
            test::expect(next.threw && next.message == outcome.message, "the error did not stay");
            raise({outcome.kind, outcome.rank, outcome.message});
        },
        Seconds{5});
    BOOST_TEST(present == 0, "destructors did not run");
    for (const std::size_t length : {first, others}) {
        test::check_all_threw(outcomes, std::to_string(length) + " float32, " + std::to_string(4 * length) + " bytes");
    }
    for (const auto& outcome : outcomes) BOOST_TEST((outcome.is_error && outcome.kind == ErrorKind::shape));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(both_lengths_are_named_on_all_ranks, Runner, test::EveryTransport) {
    for (const int world : {2, 3}) {
        test::for_each_reducer<Runner>([&](const auto& reducer) {
            BOOST_TEST_CONTEXT(reducer.name << ", world " << world) {
                check_difference<Runner>(reducer, world, 100, 200);
                check_difference<Runner>(reducer, world, 200, 100);
                check_difference<Runner>(reducer, world, 99, 100);
            }
        });
    }
}

/// Short and long buffers take other ways through Fused: ranks on both must end.
BOOST_AUTO_TEST_CASE_TEMPLATE(fused_too, Runner, SharedAddressSpaces) {
    const auto fused = test::AnyReducer<typename Runner::link_type>::template of<Fused>();
    for (const int world : {2, 3}) {
        check_difference<Runner>(fused, world, 100, 100'003);
        check_difference<Runner>(fused, world, 100'003, 100);
        check_difference<Runner>(fused, world, 100'003, 100'004);
    }
}

}  // namespace
