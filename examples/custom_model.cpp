// SPDX-License-Identifier: MIT
// A model is any struct with these members: no base class, no registration, no tensor. This one learns how fast
// something decays, y = height exp(-rate x), on three threads that each see a third of the measurements.
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include <lockstep/lockstep.hpp>

using namespace lockstep;

struct Point {
    double x;
    double y;
};

/// What a batch must be able to do: say how many rows it has, and name a part of itself.
struct Points {
    std::span<const Point> points;
    std::size_t rows() const { return points.size(); }
    Points slice(Shard shard) const { return {points.subspan(shard.begin, shard.size)}; }
};

struct Decay {
    using scalar_type = double;
    std::array<double, 2> values{1, 1};  // height, rate
    std::array<double, 2> slopes{};

    std::span<double> parameters() { return values; }
    std::span<double> gradients() { return slopes; }
    Manifest manifest() const { return {{"height", {1}}, {"rate", {1}}}; }

    LossSum backward(const Points& batch) {  // adds the gradient of the *summed* loss
        double loss = 0;
        for (const Point& point : batch.points) {
            const double decayed = std::exp(-values[1] * point.x);
            const double error = values[0] * decayed - point.y;
            loss += error * error;
            slopes[0] += 2 * error * decayed;
            slopes[1] -= 2 * error * values[0] * decayed * point.x;
        }
        return {loss, static_cast<double>(batch.rows())};
    }
};

int main() {
    std::vector<Point> measured;
    for (int index = 0; index < 100; ++index) {
        const double x = 0.04 * index;
        measured.push_back({x, 3 * std::exp(-0.5 * x)});
    }

    bool found = false;
    run_threads(3, [&](Threads transport) {
        DataParallel<Decay, Tree, Threads> replica{Decay{}, transport};
        Sgd<double> optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
        for (int step = 0; step <= 300; ++step) {
            const MeanLoss loss = replica.backward(Points{measured});
            optimizer.step(replica.model());
            if (replica.rank() == 0 && step % 100 == 0) std::printf("step %3d  loss %.2e\n", step, loss.mean);
        }
        if (replica.rank() != 0) return;
        const auto [height, rate] = replica.model().values;
        std::printf("height %.3f, rate %.3f (measured with 3 and 0.5)\n", height, rate);
        found = std::abs(height - 3) < 1e-3 && std::abs(rate - 0.5) < 1e-3;
    });
    return found ? 0 : 1;
}
