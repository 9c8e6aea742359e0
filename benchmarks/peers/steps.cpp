// SPDX-License-Identifier: MIT
// Contender of compare_steps.py: whole training steps. `peer_steps MODEL TRANSPORT WORLD`, or `--list`.
//
// `ROWS ITERATIONS WARMUP` on standard input, ROWS a rank, is answered by `ok SECONDS_OF_A_STEP LOSS`: iterations run one
// after the other, and training goes on from block to block. Parameters and rows are those of ddp.py.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/lockstep.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/observe/observed.hpp>

#include "serve_steps.hpp"

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

template <class Net, class Strategy, class Link>
void serve(Link link, const DataParallelOptions& options = {}) {
    DataParallel<Net, Strategy, Link> replica{Net{1}, link, options};
    Sgd<float> optimizer{{.learning_rate = 0.01, .momentum = 0.9}};
    peers::serve_steps(link, replica, Net::input_size, [&](const peers::Rows& rows) {
        const typename Net::batch_type batch(MatrixView<const float>(rows.inputs.data(), rows.count, Net::input_size),
                                             std::span<const std::int32_t>(rows.labels));
        return [&replica, &optimizer, batch] {
            const double loss = replica.backward(batch).mean;
            optimizer.step(replica.model());
            return loss;
        };
    });
}

/// As many ranks, each on its shard, that tell each other nothing: what a step would cost without communication.
template <class Net>
void serve_apart(Threads link) {
    DataParallel<Net, Ring, Solo> replica{Net{1}, Solo{}};
    Sgd<float> optimizer{{.learning_rate = 0.01, .momentum = 0.9}};
    peers::serve_steps(link, replica, Net::input_size, [&](const peers::Rows& rows) {
        const typename Net::batch_type all(MatrixView<const float>(rows.inputs.data(), rows.count, Net::input_size),
                                           std::span<const std::int32_t>(rows.labels));
        const auto batch = all.slice(shard_of(rows.count, link.rank(), link.world_size()));
        return [&replica, &optimizer, batch] {
            const double loss = replica.backward(batch).mean;
            optimizer.step(replica.model());
            return loss;
        };
    });
}

template <class Net>
bool run(const std::string& transport, int world) {
    if (transport == "threads") {
        run_threads(world, [](Threads link) { serve<Net, Fused>(link); },
                    {.timeout = peers::patience, .slow_after = peers::patience});
    } else if (transport == "tcp") {
        run_processes(world, [](Sockets link) { serve<Net, Ring>(link); },
                      {.sockets = LocalSockets::tcp, .timeout = peers::patience});
    } else if (transport == "bucketed") {
        run_threads(world, [](Threads link) { serve<Net, Fused>(link, {.overlap = Overlap::per_bucket}); },
                    {.timeout = peers::patience, .slow_after = peers::patience});
    } else if (transport == "observed") {
        run_threads(world,
                    [](Threads link) {
                        Timeline timeline;
                        serve<Net, Fused>(Observed<Threads>(link, timeline));
                    },
                    {.timeout = peers::patience, .slow_after = peers::patience});
    } else if (transport == "apart") {
        run_threads(world, serve_apart<Net>, {.timeout = peers::patience, .slow_after = peers::patience});
    } else {
        return false;
    }
    return true;
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words == std::vector<std::string>{"--list"}) {
        std::puts("threads\nbucketed\nobserved\ntcp\napart");
        return 0;
    }
    const bool known = words.size() == 3 && (words[0] == "small"    ? run<Small>(words[1], std::stoi(words[2]))
                                             : words[0] == "middle" ? run<Middle>(words[1], std::stoi(words[2]))
                                             : words[0] == "cnn"    ? run<Cnn>(words[1], std::stoi(words[2]))
                                                                    : false);
    if (known) return 0;
    std::fprintf(
        stderr, "usage: peer_steps small|middle|cnn threads|bucketed|observed|tcp|apart WORLD, or peer_steps --list\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "peer_steps: %s\n", error.what());
    return 1;
}
