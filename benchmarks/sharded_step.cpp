// SPDX-License-Identifier: MIT
// Average and step, of a model of 64 MiB: the optimizer's state on every rank against a share of it on each. Both in
// turn in every iteration, in an order that changes; the ratio is that of medians.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/core/digest.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/ranks.hpp"

namespace {

using namespace lockstep;

struct Rows {
    std::size_t count = 0;
    std::size_t rows() const { return count; }
    Rows slice(Shard shard) const { return {shard.size}; }
};

/// Parameters and nothing else: what a step costs besides backward.
struct Parameters {
    using scalar_type = float;
    using batch_type = Rows;
    std::vector<float> values = std::vector<float>(std::size_t{16} << 20);
    std::vector<float> slopes = std::vector<float>(values.size());
    std::size_t turn = 0;

    std::span<float> parameters() { return values; }
    std::span<float> gradients() { return slopes; }
    Manifest manifest() const { return {{"values", {values.size()}}}; }
    LossSum backward(const Rows& rows) {
        ++turn;
        for (std::size_t index = 0; index < slopes.size(); ++index) {
            slopes[index] += static_cast<float>((index * 7919 + turn * 104'729) % 2003) / 1000.0F - 1.0F;
        }
        return {.sum = 1, .weight = static_cast<double>(rows.count)};
    }
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

template <class Strategy, class Optimizer, class Runner>
void compare(benchmark::State& state, int world_size, const typename Optimizer::options_type& options) {
    std::vector<double> replicated;
    std::vector<double> sharded;
    std::vector<std::uint8_t> equal(static_cast<std::size_t>(world_size));
    Runner::run(world_size, [&](auto& link) {
        using Link = std::remove_cvref_t<decltype(link)>;
        using Replica = DataParallel<Parameters, Strategy, Link>;
        Replica whole{Parameters{}, link};
        Replica pieces{Parameters{}, link};
        Optimizer everywhere(options);
        Optimizer shares(options);
        const auto seconds_of = [&](const auto& work) {
            barrier(link);
            const auto start = std::chrono::steady_clock::now();
            work();
            double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            all_reduce<Tree>(link, std::span(&seconds, 1), Max{});
            return seconds;
        };
        bool sharded_first = false;
        const auto both = [&] {
            whole.accumulate(Rows{10});
            pieces.accumulate(Rows{10});
            double first = 0;
            double second = 0;
            const auto step_whole = [&] {
                whole.average();
                whole.step(everywhere);
            };
            const auto step_pieces = [&] { pieces.average_and_step(shares); };
            if (sharded_first) second = seconds_of(step_pieces);
            first = seconds_of(step_whole);
            if (!sharded_first) second = seconds_of(step_pieces);
            sharded_first = !sharded_first;
            if (link.rank() == 0) {
                replicated.push_back(first);
                sharded.push_back(second);
            }
            return second;
        };
        both();  // State is allocated in the first step.
        if (link.rank() == 0) {
            replicated.clear();
            sharded.clear();
        }
        for (;;) {
            std::uint8_t wanted = link.rank() == 0 && state.KeepRunning() ? 1 : 0;
            broadcast(link, std::span(&wanted, 1));
            if (wanted == 0) break;
            const double seconds = both();
            if (link.rank() == 0) state.SetIterationTime(seconds);
        }
        const auto expected = whole.model().parameters();
        const auto found = pieces.model().parameters();
        equal[static_cast<std::size_t>(link.rank())] = std::equal(expected.begin(), expected.end(), found.begin());
    });
    if (!std::all_of(equal.begin(), equal.end(), [](std::uint8_t each) { return each == 1; })) {
        state.SkipWithError("ERROR: sharded and replicated steps end with different parameters");
        return;
    }
    state.counters["replicated_ms"] = median(replicated) * 1e3;
    state.counters["sharded_ms"] = median(sharded) * 1e3;
    state.counters["ratio"] = median(replicated) / median(sharded);
}

template <class Strategy, class Optimizer, class Runner>
void add(const std::string& strategy, const typename Optimizer::options_type& options) {
    const std::string name =
        "sharded_step/" + std::string(Optimizer::name) + "/" + strategy + "/" + Runner::name + "/world:2";
    benchmark::RegisterBenchmark(
        name.c_str(), [options](benchmark::State& state) { compare<Strategy, Optimizer, Runner>(state, 2, options); })
        ->UseManualTime()
        ->Iterations(31)
        ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int count, char** arguments) {
    benchmark::Initialize(&count, arguments);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    add<Fused, Adam<float>, bench::OverThreads>("fused", {.learning_rate = 0.001});
    add<Ring, Adam<float>, bench::OverThreads>("ring", {.learning_rate = 0.001});
    add<Fused, Sgd<float>, bench::OverThreads>("fused", {.learning_rate = 0.001, .momentum = 0.9});
    add<Ring, Adam<float>, bench::OverTcp>("ring", {.learning_rate = 0.001});
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
