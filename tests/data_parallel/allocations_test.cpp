// SPDX-License-Identifier: MIT
// After the first steps nothing is allocated: not by layers, reducers, buckets or optimizers.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <ratio>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/batch_norm.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/dropout.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/count_allocations.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

using Conv = Conv2d<Image<1, 8, 8>, 4, 3, 1, 1>;
using Pool = MaxPool2d<Conv::output_image, 2>;
using Net = Network<Sequential<Conv, BatchNorm<Conv::output_image>, Relu, Pool, Dropout<std::ratio<1, 4>>,
                               Linear<Pool::output_image::size, 20>, Gelu, Linear<20, 5>>,
                    CrossEntropy>;

template <class Strategy, class Runner>
void check(const char* name, Overlap overlap, bool sharded) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            DataParallel<Net, Strategy, std::remove_reference_t<decltype(link)>> replica{
                Net{3}, link, DataParallelOptions{overlap, 1024}};
            Adam<float> adam({.learning_rate = 0.01});
            std::vector<float> inputs;
            std::vector<std::int32_t> labels;
            for (std::size_t at = 0; at < 11 * 64; ++at) inputs.push_back(static_cast<float>(at * 37 % 101) / 50 - 1);
            for (std::size_t row = 0; row < 11; ++row) labels.push_back(static_cast<std::int32_t>(row * row % 5));
            const Net::batch_type batch{MatrixView<const float>(inputs.data(), 11, 64), labels};
            const auto step = [&] {
                if (sharded) {
                    replica.accumulate(batch);
                    replica.average_and_step(adam);
                } else {
                    replica.backward(batch);
                    replica.step(adam);
                }
            };
            for (int warm = 0; warm < 3; ++warm) step();
            const std::size_t before = test::allocations;
            for (int turn = 0; turn < 5; ++turn) step();
            const std::size_t made = test::allocations - before;
            test::expect(made == 0, std::string(name) + ": " + std::to_string(made) + " allocations, world " +
                                        std::to_string(world));
        }));
    }
}

BOOST_AUTO_TEST_CASE(steps_do_not_allocate) {
    for (const Overlap overlap : {Overlap::none, Overlap::per_bucket, Overlap::per_bucket_by_thread}) {
        check<Ring, test::OverThreads>("ring over threads", overlap, false);
        check<Fused, test::OverThreads>("fused", overlap, false);
        check<DoubleTree, test::OverThreads>("double_tree", overlap, false);
        check<Ring, test::OverTcp>("ring over tcp", overlap, false);
    }
}

BOOST_AUTO_TEST_CASE(sharded_steps_do_not_allocate) {
    check<Ring, test::OverThreads>("ring over threads, sharded", Overlap::none, true);
    check<Fused, test::OverThreads>("fused, sharded", Overlap::none, true);
}

}  // namespace
