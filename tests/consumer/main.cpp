// SPDX-License-Identifier: MIT
// Three threads learn y = 2 a - b; the ring that averages their gradients is one word below.
#include <lockstep/lockstep.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

using namespace lockstep;

using Net = Network<Sequential<Linear<2, 8>, Tanh, Linear<8, 1>>, MeanSquaredError>;

int main() {
    constexpr int world_size = 3;
    constexpr std::size_t rows = 64;
    std::vector<float> inputs;   // (rows, 2)
    std::vector<float> targets;  // (rows, 1)
    for (std::size_t row = 0; row < rows; ++row) {
        const float a = static_cast<float>(row % 8) / 8 - 0.5F;
        const float b = static_cast<float>(row) / 64 - 0.5F;
        inputs.insert(inputs.end(), {a, b});
        targets.push_back(2 * a - b);
    }
    const Net::batch_type batch{MatrixView<const float>(inputs.data(), rows, 2),
                                MatrixView<const float>(targets.data(), rows, 1)};

    double first = 0;
    double last = 0;
    std::array<std::string, world_size> digests;
    run_threads(world_size, [&](Threads transport) {
        DataParallel<Net, Ring, Threads> replica{Net{1}, transport};
        Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
        for (int step = 0; step < 200; ++step) {
            const MeanLoss loss = replica.backward(batch);
            optimizer.step(replica.model());
            if (replica.rank() == 0) (step == 0 ? first : last) = loss.mean;
        }
        const Net& trained = replica.model();
        digests[static_cast<std::size_t>(replica.rank())] = hex_digest(trained.parameters());
    });

    const bool same = digests[0] == digests[1] && digests[0] == digests[2];
    std::printf("loss %.6f -> %.6f, parameters %s on %s ranks\n", first, last, digests[0].c_str(),
                same ? "all" : "not all");
    return same && last < first / 100 ? 0 : 1;
}
