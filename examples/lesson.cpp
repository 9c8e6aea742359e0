// SPDX-License-Identifier: MIT
// Why data-parallel training works, in numbers small enough to check by hand: two workers with two rows each compute
// gradients of their shards, and the average is the gradient of the whole batch.
#include <cstdio>

#include <lockstep/lockstep.hpp>

using namespace lockstep;

// y = weight x + bias, with the mean squared error: the smallest model there is.
using Net = Network<Linear<1, 1>, MeanSquaredError>;

constexpr float inputs[] = {1, 2, 3, 4};
constexpr float targets[] = {3, 5, 7, 9};

struct Gradient {
    double weight = 0;
    double bias = 0;
    friend bool operator==(const Gradient&, const Gradient&) = default;
};

Net new_model() {
    Net model{0};
    model.parameters()[0] = 0.5F;  // weight
    model.parameters()[1] = 0.0F;  // bias
    return model;
}

Gradient gradient_of(const Net& model) { return {model.gradients()[0], model.gradients()[1]}; }

/// The gradient of the mean loss over some rows, on one worker.
Gradient gradient(const Net::batch_type& rows) {
    Net model = new_model();
    const LossSum loss = model.backward(rows);  // Gradients of the *summed* loss: the mean is taken at the end.
    const Gradient sum = gradient_of(model);
    return {sum.weight / loss.weight, sum.bias / loss.weight};
}

void print(const char* what, const Gradient& value) {
    std::printf("%s: weight %.1f, bias %.1f\n", what, value.weight, value.bias);
}

/// The same by two real workers: one line, printed by the first. Fails if any worker holds another gradient.
template <class Reducer, class Transport>
void work(Transport transport, const Net::batch_type& batch, const char* name, const char* workers) {
    DataParallel<Net, Reducer, Transport> replica{new_model(), transport};
    replica.backward(batch);
    const Gradient average = gradient_of(replica.model());
    if (!(average == Gradient{-27.5, -9.5})) throw RemoteError("another gradient", replica.rank());
    char what[80];
    std::snprintf(what, sizeof what, "%s over %s, 2 %s", Reducer::name, name, workers);
    if (replica.rank() == 0) print(what, average);
}

template <class Reducer>
void on_every_transport(const Net::batch_type& batch) {
    run_threads(2, [&](Threads transport) { work<Reducer>(transport, batch, "threads", "threads"); });
    run_processes(2, [&](Sockets transport) { work<Reducer>(transport, batch, "tcp", "processes"); },
                  {.sockets = LocalSockets::tcp});
    run_processes(2, [&](Sockets transport) { work<Reducer>(transport, batch, "unix", "processes"); },
                  {.sockets = LocalSockets::unix_domain});
}

int main() {
    const Net::batch_type batch{MatrixView<const float>(inputs, 4, 1), MatrixView<const float>(targets, 4, 1)};
    const auto first = batch.slice(shard_of(batch.rows(), 0, 2));
    const auto second = batch.slice(shard_of(batch.rows(), 1, 2));
    std::printf("Worker 1 rows: %zu\n", first.rows());
    std::printf("Worker 2 rows: %zu\n", second.rows());

    const Gradient one = gradient(first);
    const Gradient two = gradient(second);
    const Gradient average{(one.weight + two.weight) / 2, (one.bias + two.bias) / 2};
    const Gradient full = gradient(batch);
    std::printf("Averaged weight gradient: %.1f\n", average.weight);
    print("Worker 1 gradient", one);
    print("Worker 2 gradient", two);
    print("Averaged gradient", average);
    print("Full-batch gradient", full);
    std::printf("Averaged matches full batch: %s\n", average == full ? "True" : "False");

    try {
        on_every_transport<Naive>(batch);
        on_every_transport<Tree>(batch);
        on_every_transport<Ring>(batch);
    } catch (const Error& error) {
        std::fprintf(stderr, "lesson: %s\n", error.what());
        return 1;
    }
    return average == full ? 0 : 1;
}
