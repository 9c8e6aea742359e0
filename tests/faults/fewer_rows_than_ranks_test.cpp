// SPDX-License-Identifier: MIT
// Trial B02: fewer rows than ranks, a rank without data.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <bit>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/optim/sgd.hpp>

#include "faults/one_weight.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE_TEMPLATE(three_rows_or_one_on_four_ranks_give_their_own_mean, Runner, test::EveryTransport) {
    const std::vector<float> three = test::whole_numbers(1, 3);
    const std::vector<float> one{10};
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        test::PerRank<std::uint32_t> weights(4);
        test::check_all_well(Runner::run(4, [&](auto& link) {
            test::ReplicaOf<test::OneWeight, decltype(link)> replica{test::OneWeight{}, link, reducer};
            const MeanLoss first = replica.backward(test::Inputs{three});
            test::expect(first.weight == 3 && first.mean == 14.0 / 3.0, "loss of three rows");
            const float third = replica.model().slope[0];
            test::expect(std::bit_cast<std::uint32_t>(third) == 0x41155555, "28/3, rounded once");
            const MeanLoss last = replica.backward(test::Inputs{one});
            test::expect(last.weight == 1 && last.mean == 100, "loss of one row");
            test::expect(replica.model().slope[0] == 200.0F, "gradient of one row");
            Sgd optimizer{{.learning_rate = 0.001}};
            optimizer.step(replica.model());
            weights[link.rank()] = std::bit_cast<std::uint32_t>(replica.model().weight[0]);
        }));
        BOOST_TEST(weights.all_are(weights[0]), "ranks took different steps");
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_rows_at_all_are_an_error_on_all_ranks, Runner, test::EveryTransport) {
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        const auto outcomes = Runner::run(4, [&](auto& link) {
            test::ReplicaOf<test::OneWeight, decltype(link)> replica{test::OneWeight{}, link, reducer};
            replica.backward(test::Inputs{});
        });
        test::check_all_threw(outcomes, "the global batch has no rows");
    });
}

}  // namespace
