// SPDX-License-Identifier: MIT
// Trial B07: copies that start from different weights, or other momentum.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/digest.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/sgd.hpp>

#include "faults/one_weight.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;
using Net = Network<Sequential<Linear<2, 4>, Tanh, Linear<4, 1>>, MeanSquaredError>;

constexpr std::uint64_t seeds[] = {11, 22, 33};
constexpr std::size_t rows = 8;

std::vector<float> numbers(std::size_t count) {
    std::vector<float> values;
    for (std::size_t index = 0; index < count; ++index) values.push_back(static_cast<float>(index % 7) / 3 - 1);
    return values;
}

/// 50 steps of three replicas. With `preloaded`, rank 1 brings a momentum of its own.
template <class Runner, class Reducer>
void check_training(const Reducer& reducer, bool preloaded) {
    const std::vector<float> inputs = numbers(rows * 2);
    const std::vector<float> targets = numbers(rows);
    const Net::batch_type batch{{inputs.data(), rows, 2}, {targets.data(), rows, 1}};
    const std::string first = hex_digest<float>(Net(11).parameters());
    test::PerRank<std::string> started(3);
    test::PerRank<std::string> parameters(3);
    test::PerRank<std::string> velocities(3);
    test::check_all_well(Runner::run(3, [&](auto& link) {
        const int rank = link.rank();
        test::ReplicaOf<Net, decltype(link)> replica{Net(seeds[rank]), link, reducer};
        started[rank] = hex_digest<float>(replica.model().parameters());
        Sgd optimizer{{.learning_rate = 0.05, .momentum = 0.9}};
        optimizer.reserve(Net::parameter_count);
        if (preloaded && rank == 1) {
            for (float& velocity : optimizer.state()) velocity = 5;
        }
        replica.synchronize(optimizer);
        for (const float velocity : optimizer.state()) test::expect(velocity == 0, "not rank 0's momentum");
        for (int step = 0; step < 50; ++step) {
            replica.backward(batch);
            optimizer.step(replica.model());
        }
        parameters[rank] = hex_digest<float>(replica.model().parameters());
        velocities[rank] = hex_digest<float>(optimizer.state());
    }));
    BOOST_TEST(started.all_are(first), "not rank 0's weights");
    BOOST_TEST(parameters.all_are(parameters[0]), "weights have drifted apart");
    BOOST_TEST(velocities.all_are(velocities[0]), "momenta have drifted apart");
    BOOST_TEST(parameters[0] != first, "nothing was learnt");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(other_seeds_become_rank_0s_weights, Runner, test::EveryTransport) {
    test::for_each_reducer<Runner>([&](const auto& reducer) { check_training<Runner>(reducer, false); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_momentum_becomes_rank_0s, Runner, test::EveryTransport) {
    test::for_each_reducer<Runner>([&](const auto& reducer) { check_training<Runner>(reducer, true); });
}

}  // namespace
