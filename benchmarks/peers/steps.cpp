// SPDX-License-Identifier: MIT
// Contender of compare_steps.py: whole training steps. `peer_steps MODEL TRANSPORT WORLD`, or `--list`.
//
// `ROWS ITERATIONS WARMUP` on standard input, ROWS a rank, is answered by `ok SECONDS_OF_A_STEP LOSS`: iterations run one
// after the other, and training goes on from block to block. Parameters and rows are those of ddp.py.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/lockstep.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/pooling.hpp>

#include "contender.hpp"

namespace {

using namespace lockstep;

using Conv1 = Conv2d<Image<1, 28, 28>, 32, 3>;
using Conv2 = Conv2d<Conv1::output_image, 64, 3>;
using Pool = MaxPool2d<Conv2::output_image, 2>;
using Small = Network<Sequential<Linear<64, 32>, Relu, Linear<32, 10>>, CrossEntropy>;
using Middle = Network<Sequential<Linear<784, 512>, Relu, Linear<512, 256>, Relu, Linear<256, 10>>, CrossEntropy>;
using Cnn =
    Network<Sequential<Conv1, Relu, Conv2, Relu, Pool, Linear<Pool::output_image::size, 128>, Relu, Linear<128, 10>>,
            CrossEntropy>;

/// The same as `numbers` in ddp.py: a fixed scatter over [-scale, scale].
std::vector<float> numbers(std::size_t count, std::size_t salt, double scale) {
    std::vector<float> values(count);
    for (std::size_t index = 0; index < count; ++index) {
        const std::size_t scattered = (index * 7919 + salt * 104729) % 2003;
        values[index] = static_cast<float>(scale * (static_cast<double>(scattered) / 1001.5 - 1));
    }
    return values;
}

template <class Net, class Strategy, class Link>
void serve(Link link) {
    peers::bind_to_core(link.rank());
    DataParallel<Net, Strategy, Link> replica{Net{1}, link};
    const auto start = numbers(Net::parameter_count, 17, 0.05);
    std::copy(start.begin(), start.end(), replica.model().parameters().begin());
    Sgd<float> optimizer{{.learning_rate = 0.01, .momentum = 0.9}};
    for (std::string line;;) {
        std::array<std::int64_t, 3> command{};  // rows a rank, iterations, warm-up; no rows: the end
        if (link.rank() == 0 && std::getline(std::cin, line)) {
            std::istringstream(line) >> command[0] >> command[1] >> command[2];
        }
        broadcast(link, std::span<std::int64_t>(command));
        if (command[0] < 1) return;
        const auto rows = static_cast<std::size_t>(command[0]) * static_cast<std::size_t>(link.world_size());
        const auto inputs = numbers(rows * Net::input_size, 5, 1);
        std::vector<std::int32_t> labels(rows);
        for (std::size_t row = 0; row < rows; ++row) labels[row] = static_cast<std::int32_t>(row * 7 % 10);
        const typename Net::batch_type batch(MatrixView<const float>(inputs.data(), rows, Net::input_size),
                                             std::span<const std::int32_t>(labels));
        double loss = 0;
        auto begun = std::chrono::steady_clock::now();
        for (std::int64_t step = -command[2]; step < command[1]; ++step) {
            if (step == 0) {
                barrier(link);
                begun = std::chrono::steady_clock::now();
            }
            loss = replica.backward(batch).mean;
            optimizer.step(replica.model());
        }
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
        if (link.rank() == 0) {
            std::printf("ok %.9g %.9g\n", spent.count() / static_cast<double>(command[1]), loss);
            std::fflush(stdout);
        }
    }
}

/// Ranks wait for their turn while others are measured.
constexpr Seconds patience{600};

template <class Net>
bool run(const std::string& transport, int world) {
    if (transport == "threads") {
        run_threads(world, [](Threads link) { serve<Net, Fused>(link); },
                    {.timeout = patience, .slow_after = patience});
    } else if (transport == "tcp") {
        run_processes(world, [](Sockets link) { serve<Net, Ring>(link); },
                      {.sockets = LocalSockets::tcp, .timeout = patience});
    } else if (transport == "alone") {
        serve<Net, Ring>(Solo{});
    } else {
        return false;
    }
    return true;
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words == std::vector<std::string>{"--list"}) {
        std::puts("threads\ntcp\nalone");
        return 0;
    }
    const bool known = words.size() == 3 && (words[0] == "small"    ? run<Small>(words[1], std::stoi(words[2]))
                                             : words[0] == "middle" ? run<Middle>(words[1], std::stoi(words[2]))
                                             : words[0] == "cnn"    ? run<Cnn>(words[1], std::stoi(words[2]))
                                                                    : false);
    if (known) return 0;
    std::fprintf(stderr, "usage: peer_steps small|middle|cnn threads|tcp|alone WORLD, or peer_steps --list\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "peer_steps: %s\n", error.what());
    return 1;
}
