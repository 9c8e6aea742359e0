// SPDX-License-Identifier: MIT
// Modules of libtorch, trained by several ranks, against the same module trained by libtorch alone.
#include <lockstep/adapters/libtorch.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <torch/nn.h>
#include <torch/optim.h>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/world.hpp"

namespace {

using namespace lockstep;

struct CnnImpl : torch::nn::Module {
    torch::nn::Conv2d conv{nullptr};
    torch::nn::Linear hidden{nullptr};
    torch::nn::Linear out{nullptr};

    CnnImpl() {
        conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)));
        hidden = register_module("hidden", torch::nn::Linear(36, 8));
        out = register_module("out", torch::nn::Linear(8, 5));
    }
    torch::Tensor forward(torch::Tensor x) {
        x = torch::max_pool2d(torch::relu(conv->forward(x)), 2).flatten(1);
        return out->forward(torch::tanh(hidden->forward(x)));
    }
};
TORCH_MODULE(Cnn);

template <class Scalar>
torch::TensorOptions type() {
    return torch::TensorOptions().dtype(c10::CppTypeToScalarType<Scalar>::value);
}

/// Scattered over [-1, 1], the same everywhere.
template <class Scalar>
torch::Tensor numbers(std::vector<std::int64_t> shape, std::int64_t salt) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const torch::Tensor places = torch::arange(count, torch::kInt64) * 7919 + salt * 104729;
    return (places.remainder(2003).to(torch::kFloat64) / 1001.5 - 1).to(type<Scalar>()).reshape(shape);
}

template <class Scalar>
void set_parameters(torch::nn::Module& module, std::int64_t salt) {
    const torch::NoGradGuard no_gradient;
    module.to(type<Scalar>().dtype().toScalarType());
    for (torch::Tensor& parameter : module.parameters()) {
        parameter.copy_(numbers<Scalar>(parameter.sizes().vec(), salt++) * 0.3);
    }
}

template <class Scalar>
TorchBatch batch_of(std::int64_t rows, std::int64_t step) {
    return {numbers<Scalar>({rows, 1, 8, 8}, 1000 + step),
            (torch::arange(rows, torch::kInt64) * 7 + step).remainder(5)};
}

constexpr auto criterion = [](const torch::Tensor& outputs, const torch::Tensor& targets) {
    return torch::nn::functional::cross_entropy(outputs, targets);
};

template <class Scalar, class Module, class Loss>
auto model_of(Module module, Loss loss) {
    return TorchModel<Module, Loss, Scalar>(std::move(module), std::move(loss));
}

constexpr int steps = 50;

/// What libtorch alone makes of batches of ten rows.
template <class Scalar>
std::vector<double> alone() {
    Cnn net;
    set_parameters<Scalar>(*net, 17);
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        const TorchBatch batch = batch_of<Scalar>(10, step);
        optimizer.zero_grad();
        const torch::Tensor loss = criterion(net->forward(batch.inputs), batch.targets);
        loss.backward();
        optimizer.step();
        losses.push_back(loss.template item<double>());
    }
    return losses;
}

void expect_near(const std::vector<double>& losses, const std::vector<double>& expected, double limit) {
    test::expect(losses.size() == expected.size(), "steps");
    for (std::size_t step = 0; step < losses.size(); ++step) {
        test::expect(std::abs(losses[step] - expected[step]) <= limit * expected[step],
                     "step " + std::to_string(step) + ": " + std::to_string(losses[step] / expected[step] - 1));
    }
}

template <class Scalar, class Strategy, class Runner>
void expect_as_alone(int world, Overlap overlap, double limit) {
    const std::vector<double> expected = alone<Scalar>();
    test::check_all_well(Runner::run(world, [&](auto& link) {
        Cnn net;
        set_parameters<Scalar>(*net, 17 + link.rank());  // rank 0's are everybody's
        DataParallel<decltype(model_of<Scalar>(net, criterion)), Strategy, std::remove_reference_t<decltype(link)>>
            replica{model_of<Scalar>(net, criterion), link, DataParallelOptions{overlap, 256}};
        std::vector<double> losses;
        if (link.world_size() % 2 == 1) {
            // An optimizer of libtorch, which holds the parameters that have moved into the arena.
            torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
            for (int step = 0; step < steps; ++step) {
                losses.push_back(replica.backward(batch_of<Scalar>(10, step)).mean);
                optimizer.step();
                optimizer.zero_grad();
            }
        } else {
            Sgd<Scalar> optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
            for (int step = 0; step < steps; ++step) {
                losses.push_back(replica.backward(batch_of<Scalar>(10, step)).mean);
                optimizer.step(replica.model());
            }
        }
        expect_near(losses, expected, limit);
    }));
}

BOOST_AUTO_TEST_CASE(losses_are_those_of_libtorch_alone) {
    torch::set_num_threads(1);
    for (const int world : {1, 2, 3, 4}) {
        expect_as_alone<double, Ring, test::OverThreads>(world, Overlap::none, 1e-9);
        expect_as_alone<float, Fused, test::OverThreads>(world, Overlap::none, 1e-4);
        expect_as_alone<double, Naive, test::OverTcp>(world, Overlap::per_bucket, 1e-9);
        expect_as_alone<double, Ring, test::OverThreads>(world, Overlap::per_bucket_by_thread, 1e-9);
    }
}

/// Two of three branches take part in a batch, told by its first number; weights are shared, and one is frozen.
struct OddImpl : torch::nn::Module {
    torch::nn::Linear first{nullptr};
    torch::nn::Linear second{nullptr};
    torch::nn::Linear never{nullptr};
    torch::Tensor frozen;
    torch::Tensor shared;

    OddImpl() {
        first = register_module("first", torch::nn::Linear(torch::nn::LinearOptions(2, 1).bias(false)));
        second = register_module("second", torch::nn::Linear(torch::nn::LinearOptions(2, 1).bias(false)));
        never = register_module("never", torch::nn::Linear(2, 1));
        frozen = register_parameter("frozen", torch::ones({1}), false);
        shared = register_parameter("shared", first->weight);  // the same tensor under another name
    }
    torch::Tensor forward(const torch::Tensor& x) {
        return (x[0][0].item<double>() > 0 ? first->forward(x) + x.mv(shared[0]).unsqueeze(1) : second->forward(x)) +
               frozen;
    }
};
TORCH_MODULE(Odd);

constexpr auto sum_of_outputs = [](const torch::Tensor& outputs, const torch::Tensor&) { return outputs.mean(); };

BOOST_AUTO_TEST_CASE(unused_shared_and_frozen_parameters) {
    test::check_all_well(test::OverThreads::run(2, [&](auto& link) {
        Odd net;
        set_parameters<double>(*net, link.rank());
        DataParallel<decltype(model_of<double>(net, sum_of_outputs)), Ring> replica{
            model_of<double>(net, sum_of_outputs), link};
        const auto names = [](const Manifest& manifest) {
            std::string all;
            for (const Parameter& parameter : manifest) all += to_string(parameter) + " ";
            return all;
        };
        test::expect(names(replica.model().manifest()).find("frozen") == std::string::npos, "frozen is not trained");
        test::expect(replica.model().parameters().size() == 2 + 2 + 2 + 1, "shared counts once");
        test::expect(net->frozen.item<double>() == numbers<double>({1}, 0).item<double>() * 0.3 ||
                         net->frozen.item<double>() == replica.model().constants()[0],
                     "frozen is rank 0's");
        // Rank 0's row takes the first branch, rank 1's the second; nobody the last.
        const TorchBatch batch{torch::tensor({{1.0, 2.0}, {-3.0, 4.0}}, torch::kFloat64), torch::zeros({2})};
        replica.backward(batch);
        const auto gradient = [](const torch::nn::Linear& layer) {
            return std::array{layer->weight.grad()[0][0].item<double>(), layer->weight.grad()[0][1].item<double>()};
        };
        test::expect(gradient(net->first) == std::array{1.0, 2.0}, "used twice on one of two rows");
        test::expect(gradient(net->second) == std::array{-1.5, 2.0}, "used on the other rank");
        std::size_t unused = 0;
        for (const Shard& range : replica.unused()) unused += range.size;
        test::expect(unused == 3, "weight and bias of the branch that nobody took");
        const double before = net->never->weight[0][0].item<double>();
        Sgd<double> optimizer{{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1}};
        replica.step(optimizer);
        test::expect(net->never->weight[0][0].item<double>() == before, "untouched");
    }));
}

BOOST_AUTO_TEST_CASE(running_statistics_are_averaged_and_evaluation_uses_them) {
    test::check_all_well(test::OverThreads::run(2, [&](auto& link) {
        torch::nn::Sequential net(torch::nn::BatchNorm1d(2), torch::nn::Linear(2, 1));
        net->to(torch::kFloat64);
        DataParallel<decltype(model_of<double>(net, sum_of_outputs)), Ring> replica{
            model_of<double>(net, sum_of_outputs), link};
        const TorchBatch batch{torch::tensor({{1.0, 0.0}, {3.0, 0.0}, {5.0, 2.0}, {9.0, 2.0}}, torch::kFloat64),
                               torch::zeros({4})};
        replica.backward(batch);
        const auto buffers = replica.model().buffers();
        // Means of the halves: 2 and 7, 0 and 2; unbiased variances: 2 and 8, 0 and 0.
        const std::array expected{0.1 * 4.5, 0.1, 0.9 + 0.1 * 5, 0.9};
        for (std::size_t index = 0; index < 4; ++index) {
            test::expect(std::abs(buffers[index] - expected[index]) < 1e-12, "buffer " + std::to_string(index));
        }
        replica.evaluate(batch);
        test::expect(std::abs(buffers[0] - expected[0]) < 1e-12 && net->is_training(),
                     "evaluation leaves all as it was");
    }));
}

BOOST_AUTO_TEST_CASE(a_sum_with_a_weight_of_its_own) {
    const auto weighted = [](const torch::Tensor& outputs, const torch::Tensor& weights) {
        return TorchLossSum{(outputs.squeeze(1) * weights).sum(), weights.sum().item<double>()};
    };
    test::check_all_well(test::OverThreads::run(3, [&](auto& link) {
        torch::nn::Linear net(torch::nn::LinearOptions(1, 1).bias(false));
        net->to(torch::kFloat64);
        DataParallel<decltype(model_of<double>(net, weighted)), Ring> replica{model_of<double>(net, weighted), link};
        const TorchBatch batch{torch::tensor({{1.0}, {2.0}, {3.0}, {4.0}}, torch::kFloat64),
                               torch::tensor({1.0, 0.0, 0.0, 3.0}, torch::kFloat64)};
        test::expect(replica.backward(batch).weight == 4, "weight");
        test::expect(net->weight.grad()[0][0].item<double>() == 13.0 / 4, "gradient");
    }));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
    const auto message_of = [](const auto& body) { return test::outcome_of(body).message; };
    BOOST_TEST(message_of([] { model_of<double>(torch::nn::Linear(1, 1), sum_of_outputs); }) ==
               "TorchModel: weight is float on cpu, not a dense tensor of double on cpu");
    BOOST_TEST(message_of([] { model_of<float>(torch::nn::Sequential(torch::nn::ReLU()), sum_of_outputs); }) ==
               "TorchModel: the module has no parameters to train");
    const auto rows = [](const torch::Tensor& outputs, const torch::Tensor&) { return outputs; };
    const auto outcomes = test::OverThreads::run(2, [&](auto& link) {
        DataParallel<decltype(model_of<float>(torch::nn::Linear(1, 1), rows)), Ring> replica{
            model_of<float>(torch::nn::Linear(1, 1), rows), link};
        replica.backward(TorchBatch{torch::ones({4, 1}), torch::zeros({4})});
    });
    test::check_all_threw(outcomes, "the loss is a tensor of 2 numbers, not one");
    // What libtorch throws on one rank reaches all.
    const auto thrown = test::OverThreads::run(2, [&](auto& link) {
        DataParallel<decltype(model_of<float>(torch::nn::Linear(1, 1), sum_of_outputs)), Ring> replica{
            model_of<float>(torch::nn::Linear(1, 1), sum_of_outputs), link};
        replica.backward_shard(TorchBatch{torch::ones({1, link.rank() == 0 ? 1 : 2}), torch::zeros({1})});
    });
    test::check_all_threw(thrown, "shapes cannot be multiplied");
}

}  // namespace
