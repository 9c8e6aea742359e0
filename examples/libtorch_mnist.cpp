// SPDX-License-Identifier: MIT
// A module of libtorch on MNIST's handwritten digits, trained by threads or by processes: `--help`. Net, loss and optimizer
// are those of PyTorch's C++ example of this name; three lines make them data-parallel.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <getopt.h>

#include <torch/torch.h>

#include <lockstep/adapters/libtorch.hpp>
#include <lockstep/data/idx.hpp>
#include <lockstep/lockstep.hpp>

#include "flags.hpp"
#include "launch.hpp"

using namespace lockstep;

namespace {

struct NetImpl : torch::nn::Cloneable<NetImpl> {
    explicit NetImpl(double dropout_rate) : rate(dropout_rate) { NetImpl::reset(); }
    void reset() override {
        conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 10, 5)));
        conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(10, 20, 5)));
        drop = register_module("drop", torch::nn::Dropout(rate));
        fc1 = register_module("fc1", torch::nn::Linear(320, 50));
        fc2 = register_module("fc2", torch::nn::Linear(50, 10));
    }
    torch::Tensor forward(torch::Tensor x) {
        x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
        x = torch::relu(torch::max_pool2d(conv2->forward(x), 2)).flatten(1);
        return torch::log_softmax(fc2->forward(drop->forward(torch::relu(fc1->forward(x)))), 1);
    }

    double rate;
    torch::nn::Conv2d conv1{nullptr};
    torch::nn::Conv2d conv2{nullptr};
    torch::nn::Dropout drop{nullptr};
    torch::nn::Linear fc1{nullptr};
    torch::nn::Linear fc2{nullptr};
};
TORCH_MODULE(Net);

constexpr auto criterion = [](const torch::Tensor& outputs, const torch::Tensor& targets) {
    return torch::nll_loss(outputs, targets);
};

// ---- Flags ----------------------------------------------------------------------------------------------------

struct Settings {
    example::Launch launch{.workers = 2};
    int epochs = 5;
    int batch = 64;
    int seed = 1;
    int compare = 0;
    bool is_double = false;
    bool dropout = false;
    std::string data;
};

constexpr const char* help = R"(usage: libtorch_mnist --data DIRECTORY [FLAGS]
Trains a small convolutional network of libtorch on the four files of MNIST, uncompressed: train-images-idx3-ubyte,
train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte.

  --data DIRECTORY   where they are
  --workers N        workers that train together, 1 to 64 (2)
  --transport T      threads: workers are threads; tcp or unix: they are processes, joined by sockets (threads)
  --epochs E         times that all rows are seen, 1 to 1000 (5)
  --batch B          rows of a global batch, 1 to 100000 (64)
  --seed S           seed of first parameters and row order, 0 to 2147483647 (1)
  --double           parameters of 64 bits
  --dropout          drops half of the hidden units, drawn by libtorch: other ones for each number of workers
  --compare K        trains K steps only, then makes the same steps with libtorch alone, in one process, and prints how far
                     apart losses and parameters are; 1 to 1000000
  --timeout T        how long a worker waits for the others in one step before that is an error (60s)
  --help             this text
)";

Settings settings_from(int count, char** arguments) {
    enum Flag { data, workers, transport, epochs, batch, seed, is_double, dropout, compare, timeout, show_help };
    constexpr std::array<option, 12> flags{{{"data", required_argument, nullptr, data},
                                            {"workers", required_argument, nullptr, workers},
                                            {"transport", required_argument, nullptr, transport},
                                            {"epochs", required_argument, nullptr, epochs},
                                            {"batch", required_argument, nullptr, batch},
                                            {"seed", required_argument, nullptr, seed},
                                            {"double", no_argument, nullptr, is_double},
                                            {"dropout", no_argument, nullptr, dropout},
                                            {"compare", required_argument, nullptr, compare},
                                            {"timeout", required_argument, nullptr, timeout},
                                            {"help", no_argument, nullptr, show_help},
                                            {}}};
    Settings settings;
    example::each_flag(count, arguments, flags.data(), [&settings](int flag, const std::string& text) {
        using example::number;
        switch (flag) {
            case data: settings.data = text; break;
            case workers:
                settings.launch.workers = number("--workers", text, 1, 64);
                settings.launch.workers_given = true;
                break;
            case transport:
                settings.launch.transport = example::word("--transport", text, example::transports);
                settings.launch.transport_given = true;
                break;
            case epochs: settings.epochs = number("--epochs", text, 1, 1000); break;
            case batch: settings.batch = number("--batch", text, 1, 100'000); break;
            case seed: settings.seed = number("--seed", text, 0, 2'147'483'647); break;
            case is_double: settings.is_double = true; break;
            case dropout: settings.dropout = true; break;
            case compare: settings.compare = number("--compare", text, 1, 1'000'000); break;
            case timeout: settings.launch.timeout = Seconds{example::seconds("--timeout", text)}; break;
            default: std::fputs(help, stdout); std::exit(0);
        }
    });
    if (settings.data.empty()) throw ConfigurationError("--data says where the files of MNIST are; see --help");
    if (settings.dropout && settings.compare > 0) {
        throw ConfigurationError("--compare needs steps that are not random: it does not go with --dropout");
    }
    return settings;
}

// ---- Training -------------------------------------------------------------------------------------------------

template <class Scalar>
struct Files {
    LabelledDataset<Scalar> train;
    LabelledDataset<Scalar> test;
};

template <class Scalar>
LabelledDataset<Scalar> load(const std::string& directory, const std::string& name) {
    auto set = labelled_from_idx<Scalar>(directory + "/" + name + "-images-idx3-ubyte",
                                         directory + "/" + name + "-labels-idx1-ubyte");
    if (set.features() != 28 * 28) {
        throw FormatError(directory + "/" + name + ": " + std::to_string(set.features()) + " pixels an image, not 784");
    }
    // To mean 0 and deviation 1, as the pixels of MNIST have 0.1307 and 0.3081.
    const MatrixView<Scalar> pixels = set.inputs();
    for (std::size_t row = 0; row < pixels.rows; ++row) {
        for (Scalar& pixel : pixels.row(row)) pixel = (pixel / 255 - Scalar(0.1307)) / Scalar(0.3081);
    }
    return set;
}

/// The rows as tensors, whose images lie where those of `rows` do.
template <class Rows>
TorchBatch tensors_of(const Rows& rows) {
    using Scalar = std::remove_const_t<std::remove_pointer_t<decltype(rows.inputs.data)>>;
    const auto count = static_cast<std::int64_t>(rows.rows());
    const auto type = torch::TensorOptions().dtype(c10::CppTypeToScalarType<Scalar>::value);
    const torch::Tensor labels =
        torch::from_blob(const_cast<std::int32_t*>(rows.targets.data()), {count}, torch::kInt32).to(torch::kInt64);
    return {torch::from_blob(const_cast<Scalar*>(rows.inputs.data), {count, 1, 28, 28}, type), labels};
}

torch::optim::SGD optimizer_of(Net& net) {
    return torch::optim::SGD(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
}

Net copy_of(const Net& net) { return Net(std::dynamic_pointer_cast<NetImpl>(net->clone())); }

/// The same steps by libtorch alone: losses, and how far its parameters are from `trained`.
template <class Scalar>
void compare(const Settings& settings, Loader<LabelledDataset<Scalar>, ShuffledSampler>& loader, Net net,
             const Net& trained, const std::vector<double>& losses) {
    auto optimizer = optimizer_of(net);
    double worst = 0;
    std::size_t step = 0;
    for (std::uint64_t epoch = 1; step < losses.size(); ++epoch) {
        for (const auto batch : loader.epoch(epoch)) {
            if (step == losses.size()) break;
            const TorchBatch rows = tensors_of(batch.all());
            optimizer.zero_grad();
            const torch::Tensor loss = criterion(net->forward(rows.inputs), rows.targets);
            loss.backward();
            optimizer.step();
            const double expected = loss.template item<double>();
            worst = std::max(worst, std::abs(losses[step] - expected) / expected);
            ++step;
        }
    }
    double far = 0;
    const auto theirs = net->parameters();
    const auto ours = trained->parameters();
    for (std::size_t index = 0; index < theirs.size(); ++index) {
        far = std::max(far, (theirs[index] - ours[index]).abs().max().template item<double>());
    }
    std::printf(
        "%zu steps with %d workers and with libtorch alone: losses within %.3g (relative), parameters within %.3g\n",
        losses.size(), settings.launch.workers, worst, far);
}

/// What one worker does.
template <class Scalar, class Link>
void train(const Settings& settings, const Files<Scalar>& files, const Net& start, Link link) {
    const bool speaks = link.rank() == 0;
    const auto seed = static_cast<std::uint64_t>(settings.seed);
    Loader loader{files.train, ShuffledSampler{seed}, static_cast<std::size_t>(settings.batch)};
    Net net = copy_of(start);

    // Three lines: the module as a model, a replica of it, and below `replica.backward` in place of `loss.backward()`.
    using Model = TorchModel<Net, decltype(criterion), Scalar>;
    DataParallel<Model, Ring, Link> replica{Model{net, criterion}, link};
    auto optimizer = optimizer_of(net);

    std::vector<double> losses;
    const auto enough = [&] {
        return settings.compare > 0 && losses.size() >= static_cast<std::size_t>(settings.compare);
    };
    for (int epoch = 1; (epoch <= settings.epochs || settings.compare > 0) && !enough(); ++epoch) {
        double loss_sum = 0;
        {
            const std::string label = "epoch " + std::to_string(epoch) + "/" + std::to_string(settings.epochs);
            Progress progress{label, files.train.size(), speaks};
            for (const auto batch : loader.epoch(static_cast<std::uint64_t>(epoch))) {
                if (enough()) break;
                const MeanLoss loss = replica.backward(tensors_of(batch.all()));  // shard, backward, average
                optimizer.step();
                losses.push_back(loss.mean);
                loss_sum += loss.mean * loss.weight;
                progress.advance(batch.rows(), loss.mean);
            }
        }
        // Every rank looks at its shard of the test file.
        const torch::NoGradGuard no_gradient;
        const auto own = files.test.batch().slice(shard_of(files.test.size(), link.rank(), link.world_size()));
        const TorchBatch rows = tensors_of(own);
        net->eval();
        std::array<double, 1> right{
            own.rows() == 0 ? 0.0 : net->forward(rows.inputs).argmax(1).eq(rows.targets).sum().template item<double>()};
        net->train();
        replica.sum(right);
        if (!speaks) continue;
        std::printf("epoch %d/%d  loss %.4f  test accuracy %.4f\n", epoch, settings.epochs,
                    loss_sum / static_cast<double>(files.train.size()),
                    right[0] / static_cast<double>(files.test.size()));
        std::fflush(stdout);
    }
    if (speaks && settings.compare > 0) compare(settings, loader, copy_of(start), net, losses);
}

template <class Scalar>
void run(const Settings& settings) {
    const Files<Scalar> files{load<Scalar>(settings.data, "train"), load<Scalar>(settings.data, "t10k")};
    torch::manual_seed(static_cast<std::uint64_t>(settings.seed));
    Net start(settings.dropout ? 0.5 : 0.0);
    start->to(c10::CppTypeToScalarType<Scalar>::value);
    example::run(settings.launch, [&](auto link) { train(settings, files, start, link); });
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const Settings settings = settings_from(count, arguments);
        example::check(settings.launch);
        keep_freed_memory();
        torch::set_num_threads(1);  // A worker is a core's worth.
        settings.is_double ? run<double>(settings) : run<float>(settings);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "libtorch_mnist: %s\n", error.what());
        return 1;
    }
}
