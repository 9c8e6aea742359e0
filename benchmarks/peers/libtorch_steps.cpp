// SPDX-License-Identifier: MIT
// Contender of compare_steps.py: modules of libtorch under DataParallel. `peer_libtorch_steps MODEL TRANSPORT WORLD`, or
// `--list`; commands, parameters and rows are those of peer_steps.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <torch/nn.h>
#include <torch/optim.h>

#include <lockstep/adapters/libtorch.hpp>
#include <lockstep/collectives/fused.hpp>
#include <lockstep/lockstep.hpp>

#include "serve_steps.hpp"

namespace {

using namespace lockstep;
namespace nn = torch::nn;

constexpr auto criterion = [](const torch::Tensor& outputs, const torch::Tensor& targets) {
    return nn::functional::cross_entropy(outputs, targets);
};

struct Case {
    nn::Sequential net;
    std::vector<std::int64_t> row;  ///< the shape of one
};

Case case_of(const std::string& name) {
    if (name == "small") return {nn::Sequential(nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 10)), {64}};
    if (name == "middle") {
        return {nn::Sequential(nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 256), nn::ReLU(), nn::Linear(256, 10)),
                {784}};
    }
    return {nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 32, 3)), nn::ReLU(),
                           nn::Conv2d(nn::Conv2dOptions(32, 64, 3)), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                           nn::Linear(9216, 128), nn::ReLU(), nn::Linear(128, 10)),
            {1, 28, 28}};
}

template <class Strategy, class Link>
void serve(const std::string& name, Link link) {
    const Case what = case_of(name);
    using Model = TorchModel<nn::Sequential, decltype(criterion)>;
    DataParallel<Model, Strategy, Link> replica{Model{what.net, criterion}, link};
    torch::optim::SGD optimizer(what.net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
    std::size_t inputs = 1;
    for (const std::int64_t extent : what.row) inputs *= static_cast<std::size_t>(extent);
    peers::serve_steps(link, replica, inputs, [&](const peers::Rows& rows) {
        std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows.count)};
        shape.insert(shape.end(), what.row.begin(), what.row.end());
        const TorchBatch batch{torch::from_blob(const_cast<float*>(rows.inputs.data()), shape),
                               torch::tensor(std::vector<std::int64_t>(rows.labels.begin(), rows.labels.end()))};
        return [&replica, &optimizer, batch] {
            const double loss = replica.backward(batch).mean;
            optimizer.step();
            return loss;
        };
    });
}

bool run(const std::string& model, const std::string& transport, int world) {
    if (transport == "threads") {
        run_threads(world, [&](Threads link) { serve<Fused>(model, link); },
                    {.timeout = peers::patience, .slow_after = peers::patience});
    } else if (transport == "tcp") {
        run_processes(world, [&](Sockets link) { serve<Ring>(model, link); },
                      {.sockets = LocalSockets::tcp, .timeout = peers::patience});
    } else {
        return false;
    }
    return true;
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words == std::vector<std::string>{"--list"}) {
        std::puts("threads\ntcp");
        return 0;
    }
    keep_freed_memory();
    torch::set_num_threads(1);
    const bool known = words.size() == 3 && (words[0] == "small" || words[0] == "middle" || words[0] == "cnn");
    if (known && run(words[0], words[1], std::stoi(words[2]))) return 0;
    std::fprintf(stderr, "usage: peer_libtorch_steps small|middle|cnn threads|tcp WORLD, or --list\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "peer_libtorch_steps: %s\n", error.what());
    return 1;
}
