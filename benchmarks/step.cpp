// SPDX-License-Identifier: MIT
// A training step (backward, all-reduce, optimizer) by world size and transport: what communication adds to it.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/core/digest.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/ranks.hpp"

namespace {

using namespace lockstep;

using Small = Sequential<Linear<64, 32>, Relu, Linear<32, 10>>;
using Middle = Sequential<Linear<784, 512>, Relu, Linear<512, 256>, Relu, Linear<256, 10>>;

/// Each rank has `rows` rows of its own, as when a world grows with its data.
template <class Architecture, class Shape, class Runner>
void step(benchmark::State& state, int world_size, std::size_t rows) {
    using Net = Network<Architecture, CrossEntropy>;
    std::vector<std::string> digests(static_cast<std::size_t>(world_size));
    bool finite = true;
    Runner::run(world_size, [&](auto& link) {
        using Link = std::remove_cvref_t<decltype(link)>;
        DataParallel<Net, Shape, Link> replica{Net{1}, link};
        Sgd optimizer{{.learning_rate = 0.01, .momentum = 0.9}};
        std::vector<float> inputs(rows * Net::input_size);
        std::vector<std::int32_t> labels(rows);
        Random random(7, static_cast<std::uint64_t>(link.rank()));
        for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random.below(Net::output_size));
        const auto prepare = [&] {
            for (float& input : inputs) input = static_cast<float>(random.uniform(-1, 1));
        };
        const typename Net::batch_type batch{MatrixView<const float>(inputs.data(), rows, Net::input_size), labels};
        MeanLoss loss;
        bench::iterate(state, link, prepare, [&] {
            loss = replica.backward_shard(batch);
            optimizer.step(replica.model());
        });
        const Net& trained = replica.model();
        digests[static_cast<std::size_t>(link.rank())] = hex_digest(trained.parameters());
        if (link.rank() == 0) finite = std::isfinite(loss.mean);
    });
    for (const std::string& digest : digests) {
        if (digest != digests.front()) state.SkipWithError("ERROR: ranks end with different parameters");
    }
    if (!finite) state.SkipWithError("ERROR: the loss is not finite");
    state.counters["rows_per_second"] =
        benchmark::Counter(static_cast<double>(rows) * world_size, benchmark::Counter::kIsIterationInvariantRate);
}

template <class Architecture, class Shape, class Runner>
void add(const std::string& network, std::size_t rows) {
    for (const int world_size : {1, 2, 4}) {
        const std::string name = "step/" + network + "/" + Shape::name + "/" + Runner::name +
                                 "/world:" + std::to_string(world_size) + "/rows:" + std::to_string(rows);
        benchmark::RegisterBenchmark(name.c_str(), [world_size, rows](benchmark::State& state) {
            step<Architecture, Shape, Runner>(state, world_size, rows);
        })->UseManualTime();
    }
}

template <class Architecture>
void add_over_all(const std::string& network, std::size_t rows) {
    add<Architecture, Ring, bench::OverThreads>(network, rows);
    add<Architecture, Tree, bench::OverThreads>(network, rows);
    add<Architecture, Ring, bench::OverTcp>(network, rows);
    add<Architecture, Ring, bench::OverUnix>(network, rows);
}

}  // namespace

int main(int count, char** arguments) {
    benchmark::Initialize(&count, arguments);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    add_over_all<Small>("64-32-10", 32);
    add_over_all<Middle>("784-512-256-10", 128);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
