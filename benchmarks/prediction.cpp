// SPDX-License-Identifier: MIT
// The simulator held to account: predicted and measured times of topologies over TCP, for each world size, and the
// median of the errors. `prediction [WORLD_SIZE...]`, by default 2 3 4 5 8.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <lockstep/collectives/auto.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/ranks.hpp"

namespace {

using namespace lockstep;

struct Result {
    const char* topology;
    int world_size;
    std::size_t bytes;
    double predicted;
    double measured;
    double error() const { return std::abs(predicted - measured) / measured; }
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Ranks are threads of this program: they start as one, however long a message takes.
class Start {
public:
    explicit Start(int ranks) : ranks_(ranks) {}
    void together() {
        const int mine = generation_.load();
        if (arrived_.fetch_add(1) + 1 == ranks_) {
            arrived_.store(0);
            generation_.store(mine + 1);
        }
        while (generation_.load() == mine) std::this_thread::yield();
    }

private:
    int ranks_;
    std::atomic<int> arrived_{0};
    std::atomic<int> generation_{0};
};

/// Seconds of the slowest rank, the median over repeats. The same on all ranks.
template <class Shape>
double measure(Sockets& link, Start& start, std::span<float> values) {
    std::vector<double> times;
    const int repeats = values.size() < 65536 ? 100 : 20;
    for (int repeat = -repeats / 10; repeat < repeats; ++repeat) {
        std::fill(values.begin(), values.end(), static_cast<float>(link.rank() + 1));
        start.together();
        const auto begin = std::chrono::steady_clock::now();
        all_reduce<Shape>(link, values);
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        all_reduce<Tree>(link, std::span(&seconds, 1), Max{});
        if (repeat >= 0) times.push_back(seconds);
    }
    const int sum = link.world_size() * (link.world_size() + 1) / 2;
    if (values.front() != static_cast<float>(sum) || values.back() != static_cast<float>(sum)) {
        throw std::runtime_error(std::string(Shape::name) + " has a wrong sum");
    }
    return median(std::move(times));
}

template <class Shape>
void compare(Sockets& link, Start& start, const LinkModel& model, std::size_t bytes, std::vector<Result>& results) {
    std::vector<float> values(bytes / sizeof(float));
    const double measured = measure<Shape>(link, start, values);
    const double predicted = simulate<Shape>(link.world_size(), values.size(), sizeof(float), model).seconds;
    results.push_back({Shape::name, link.world_size(), bytes, predicted, measured});
}

std::vector<Result> results_of(int world_size) {
    std::vector<Result> results;
    LinkModel used;
    Start start(world_size);
    bench::OverTcp::run(world_size, [&](Sockets& link) {
        const LinkModel model = calibrate(link);
        std::vector<Result> own;
        for (const std::size_t bytes : {1U << 10, 16U << 10, 64U << 10, 256U << 10, 1U << 20, 4U << 20}) {
            compare<Naive>(link, start, model, bytes, own);
            compare<Tree>(link, start, model, bytes, own);
            compare<Ring>(link, start, model, bytes, own);
            compare<RecursiveDoubling>(link, start, model, bytes, own);
            compare<HalvingDoubling>(link, start, model, bytes, own);
            compare<Direct>(link, start, model, bytes, own);
            compare<Circulant>(link, start, model, bytes, own);
            compare<DoubleTree>(link, start, model, bytes, own);
        }
        if (link.rank() == 0) {
            results = std::move(own);
            used = model;
        }
    });
    std::printf(
        "%d ranks: a message takes %.1f us, and %.1f us of work at either end; bytes travel at %.2f GB/s, are\n"
        "copied at %.2f and added at %.2f GB/s; ranks that work at once: %.1f (0: all)\n",
        world_size, used.latency * 1e6, used.overhead * 1e6, 1e-9 / used.seconds_per_byte,
        1e-9 / used.seconds_per_byte_copied, 1e-9 / used.seconds_per_byte_combined, used.at_once);
    return results;
}

/// The median error of those for which `chosen(result)` holds, in per cent.
template <class Chosen>
double error_of(const std::vector<Result>& results, const Chosen& chosen) {
    std::vector<double> errors;
    for (const Result& each : results) {
        if (chosen(each)) errors.push_back(100 * each.error());
    }
    return median(std::move(errors));
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<int> worlds;
    for (int index = 1; index < count; ++index) worlds.push_back(std::stoi(arguments[index]));
    if (worlds.empty()) worlds = {2, 3, 4, 5, 8};
    std::vector<Result> all;
    for (const int world_size : worlds) {
        const auto results = results_of(world_size);
        for (const Result& each : results) {
            std::printf("%2d ranks %8zu bytes %-18s predicted %9.1f us  measured %9.1f us  error %5.1f %%\n",
                        each.world_size, each.bytes, each.topology, each.predicted * 1e6, each.measured * 1e6,
                        100 * each.error());
        }
        std::printf("%2d ranks: median error %.1f %%\n\n", world_size, error_of(results, [](auto&) { return true; }));
        all.insert(all.end(), results.begin(), results.end());
    }
    std::printf("median error of all: %.1f %%\n", error_of(all, [](auto&) { return true; }));
}
