// SPDX-License-Identifier: MIT
// Trial B01: an unweighted mean over uneven shards.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <cmath>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/optim/sgd.hpp>

#include "faults/one_weight.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE_TEMPLATE(the_gradient_of_ten_rows_on_four_ranks_is_77, Runner, test::EveryTransport) {
    const std::vector<float> x = test::whole_numbers(1, 10);
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            test::ReplicaOf<test::OneWeight, decltype(link)> replica{test::OneWeight{}, link, reducer};
            const MeanLoss loss = replica.backward(test::Inputs{x});
            test::expect(loss.weight == 10 && loss.mean == 38.5, "loss");
            // 770 / 10; the mean of the ranks' means would be 88.6667.
            test::expect(replica.model().slope[0] == 77.0F, "gradient");
            Sgd optimizer{{.learning_rate = 0.01}};
            optimizer.step(replica.model());
            test::expect(std::abs(replica.model().weight[0] - 0.23F) <= 0.23e-6F, "weight");
        });
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_gradient_of_the_summed_loss_is_770, Runner, test::EveryTransport) {
    const std::vector<float> x = test::whole_numbers(1, 10);
    const float sums[] = {28, 154, 226, 362};
    test::check_all_well(Runner::run(4, [&](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            test::OneWeight model;
            model.backward(test::Inputs{x}.slice(shard_of(10, link.rank(), 4)));
            test::expect(model.slope[0] == sums[link.rank()], "this rank's own sum");
            reducer.all_reduce(link, model.gradients());
            test::expect(model.slope[0] == 770.0F, "sum");
        });
    }));
}

}  // namespace
