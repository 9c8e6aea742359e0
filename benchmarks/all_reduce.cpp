// SPDX-License-Identifier: MIT
// all_reduce of floats: topology x transport x world size x bytes. Buffers are written anew before every iteration, and
// the last result is checked.
#include <cstddef>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/ranks.hpp"

namespace {

template <class Strategy, class Runner>
void all_reduce(benchmark::State& state, int world_size, std::size_t bytes) {
    bool right = true;
    Runner::run(world_size, [&](auto& link) {
        std::vector<float> values(bytes / sizeof(float));
        const auto prepare = [&] {
            for (std::size_t index = 0; index < values.size(); ++index) {
                values[index] = static_cast<float>(static_cast<std::size_t>(link.rank()) + index % 64);
            }
        };
        bench::iterate(state, link, prepare, [&] { lockstep::all_reduce<Strategy>(link, std::span(values)); });
        bool fine = true;
        for (std::size_t index = 0; index < values.size(); ++index) {
            // Small whole numbers: exact in any order.
            const std::size_t sum = static_cast<std::size_t>(world_size * (world_size - 1) / 2) +
                                    static_cast<std::size_t>(world_size) * (index % 64);
            fine = fine && values[index] == static_cast<float>(sum);
        }
        fine = bench::everywhere(link, fine);
        if (link.rank() == 0) right = fine;
    });
    if (!right) state.SkipWithError("ERROR: a sum is wrong");
    state.counters["algorithm_bandwidth"] = benchmark::Counter(
        static_cast<double>(bytes), benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1024);
}

constexpr std::size_t longest = std::size_t{64} << 20;

template <class Strategy, class Runner>
void add() {
    for (const int world_size : {2, 3, 4, 8}) {
        // Powers of four; and twice the longest, for which time should double.
        for (std::size_t bytes = 1024; bytes <= (std::size_t{128} << 20); bytes *= bytes < longest ? 4 : 2) {
            const std::string name = std::string("all_reduce/") + Strategy::name + "/" + Runner::name +
                                     "/world:" + std::to_string(world_size) + "/bytes:" + std::to_string(bytes);
            benchmark::RegisterBenchmark(name.c_str(), [world_size, bytes](benchmark::State& state) {
                all_reduce<Strategy, Runner>(state, world_size, bytes);
            })->UseManualTime();
        }
    }
}

template <class Shape>
void add_over_all() {
    add<Shape, bench::OverThreads>();
    add<Shape, bench::OverTcp>();
    add<Shape, bench::OverUnix>();
}

}  // namespace

int main(int count, char** arguments) {
    benchmark::Initialize(&count, arguments);
    benchmark::AddCustomContext("lockstep_build_type", LOCKSTEP_BUILD_TYPE);
    if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
    add<lockstep::Fused, bench::OverThreads>();
    add_over_all<lockstep::Naive>();
    add_over_all<lockstep::Tree>();
    add_over_all<lockstep::Pipelined<lockstep::Tree>>();
    add_over_all<lockstep::DoubleTree>();
    add_over_all<lockstep::Ring>();
    add_over_all<lockstep::RecursiveDoubling>();
    add_over_all<lockstep::HalvingDoubling>();
    add_over_all<lockstep::Circulant>();
    add_over_all<lockstep::Direct>();
    add_over_all<lockstep::Hierarchical<lockstep::Ring, lockstep::Ring, 2>>();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
