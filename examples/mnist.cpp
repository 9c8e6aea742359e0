// SPDX-License-Identifier: MIT
// A convolutional network on MNIST's handwritten digits, trained by any number of workers: `--help`.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <getopt.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/data/idx.hpp>
#include <lockstep/data/prefetch.hpp>
#include <lockstep/lockstep.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/metrics.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/schedules.hpp>

#include "flags.hpp"
#include "launch.hpp"

using namespace lockstep;

namespace {

using Conv1 = Conv2d<Image<1, 28, 28>, 32, 3>;
using Conv2 = Conv2d<Conv1::output_image, 64, 3>;
using Pool = MaxPool2d<Conv2::output_image, 2>;
using Net =
    Network<Sequential<Conv1, Relu, Conv2, Relu, Pool, Linear<Pool::output_image::size, 128>, Relu, Linear<128, 10>>,
            CrossEntropy>;
using Mnist = LabelledDataset<float>;

// ---- Flags ----------------------------------------------------------------------------------------------------

const std::vector<std::string> optimizers{"sgd", "adam", "adamw"};

struct Settings {
    example::Launch launch{.workers = 2};
    std::string optimizer = "adam";
    int epochs = 5;
    int batch = 32;
    int seed = 1;
    std::string data;
    std::string curve;
    bool losses = false;
};

constexpr const char* help = R"(usage: mnist --data DIRECTORY [FLAGS]
Trains a convolutional network (3x3 to 32 and 64 channels, 2x2 pooling, 128, 10) on the four files of MNIST, uncompressed:
train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte.

  --data DIRECTORY   where they are
  --workers N        workers that train together, 1 to 64 (2)
  --transport T      threads: workers are threads; tcp or unix: they are processes, joined by sockets (threads)
  --optimizer O      sgd, adam or adamw (adam)
  --epochs E         times that all rows are seen, 1 to 1000 (5)
  --batch B          rows of a global batch, 1 to 100000 (32)
  --seed S           seed of first parameters and row order, 0 to 2147483647 (1)
  --timeout T        how long a worker waits for the others in one step before that is an error (60s)
  --losses           print the loss of every step
  --curve FILE       write step, epoch, loss and test accuracy as CSV; `plot_curve.py FILE PICTURE` draws them
  --help             this text

With RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set it is one worker of that job, as under torchrun or mpirun.
)";

Settings settings_from(int count, char** arguments) {
    enum Flag { data, workers, transport, optimizer, epochs, batch, seed, timeout, losses, curve, show_help };
    constexpr std::array<option, 12> flags{{{"data", required_argument, nullptr, data},
                                            {"workers", required_argument, nullptr, workers},
                                            {"transport", required_argument, nullptr, transport},
                                            {"optimizer", required_argument, nullptr, optimizer},
                                            {"epochs", required_argument, nullptr, epochs},
                                            {"batch", required_argument, nullptr, batch},
                                            {"seed", required_argument, nullptr, seed},
                                            {"timeout", required_argument, nullptr, timeout},
                                            {"losses", no_argument, nullptr, losses},
                                            {"curve", required_argument, nullptr, curve},
                                            {"help", no_argument, nullptr, show_help},
                                            {}}};
    Settings settings;
    example::each_flag(count, arguments, flags.data(), [&settings](int flag, const std::string& text) {
        using example::number;
        using example::word;
        switch (flag) {
            case data: settings.data = text; break;
            case workers:
                settings.launch.workers = number("--workers", text, 1, 64);
                settings.launch.workers_given = true;
                break;
            case transport:
                settings.launch.transport = word("--transport", text, example::transports);
                settings.launch.transport_given = true;
                break;
            case optimizer: settings.optimizer = word("--optimizer", text, optimizers); break;
            case epochs: settings.epochs = number("--epochs", text, 1, 1000); break;
            case batch: settings.batch = number("--batch", text, 1, 100'000); break;
            case seed: settings.seed = number("--seed", text, 0, 2'147'483'647); break;
            case timeout: settings.launch.timeout = Seconds{example::seconds("--timeout", text)}; break;
            case losses: settings.losses = true; break;
            case curve: settings.curve = text; break;
            default: std::fputs(help, stdout); std::exit(0);
        }
    });
    if (settings.data.empty()) throw ConfigurationError("--data says where the files of MNIST are; see --help");
    return settings;
}

// ---- Training -------------------------------------------------------------------------------------------------

struct Files {
    Mnist train;
    Mnist test;
};

Mnist load(const std::string& directory, const std::string& name) {
    Mnist set =
        labelled_from_idx(directory + "/" + name + "-images-idx3-ubyte", directory + "/" + name + "-labels-idx1-ubyte");
    if (set.features() != Net::input_size) {
        throw FormatError(directory + "/" + name + ": " + std::to_string(set.features()) + " pixels an image, not " +
                          std::to_string(Net::input_size));
    }
    set.scale(1.0F / 255);
    return set;
}

/// How often each digit (row) was taken for each (column), over all rows of `set`: every rank looks at its shard.
template <class Link>
std::vector<std::int64_t> confusion(Net& net, const Mnist& set, Link& link) {
    std::vector<std::int64_t> counts(Net::output_size * Net::output_size);
    const auto own = set.batch().slice(shard_of(set.size(), link.rank(), link.world_size()));
    constexpr std::size_t piece = 100;  // The network's memory grows with the largest batch that it has seen.
    for (std::size_t first = 0; first < own.rows(); first += piece) {
        const auto rows = own.slice({first, std::min(piece, own.rows() - first)});
        add_confusion(net.forward(rows.inputs), rows.targets,
                      MatrixView<std::int64_t>(counts.data(), Net::output_size, Net::output_size));
    }
    all_reduce<Ring>(link, std::span<std::int64_t>(counts));
    return counts;
}

std::int64_t right_of(const std::vector<std::int64_t>& counts) {
    std::int64_t right = 0;
    for (std::size_t digit = 0; digit < Net::output_size; ++digit) right += counts[digit * Net::output_size + digit];
    return right;
}

void print_confusion(const std::vector<std::int64_t>& counts) {
    std::printf("\ndigit taken for    0    1    2    3    4    5    6    7    8    9\n");
    for (std::size_t digit = 0; digit < Net::output_size; ++digit) {
        std::printf("    %zu          ", digit);
        for (std::size_t answer = 0; answer < Net::output_size; ++answer) {
            std::printf(" %4lld", static_cast<long long>(counts[digit * Net::output_size + answer]));
        }
        std::printf("\n");
    }
}

/// What one worker does.
template <class Optimizer, class Link>
void train(const Settings& settings, const Files& files, Optimizer optimizer, Link link) {
    const auto optimizer_index = static_cast<std::int32_t>(
        std::find(optimizers.begin(), optimizers.end(), settings.optimizer) - optimizers.begin());
    example::agree<6>({"--epochs", "--batch", "--seed", "--optimizer (by number)", "the number of training images",
                       "the number of test images"},
                      {settings.epochs, settings.batch, settings.seed, optimizer_index,
                       static_cast<std::int32_t>(files.train.size()), static_cast<std::int32_t>(files.test.size())},
                      link);
    const bool speaks = link.rank() == 0;
    const auto seed = static_cast<std::uint64_t>(settings.seed);
    DataParallel<Net, Ring, Link> replica{Net{seed}, link};
    // A thread gathers the rows of the next batch meanwhile.
    Prefetcher loader{files.train, ShuffledSampler{seed}, static_cast<std::size_t>(settings.batch), link.rank(),
                      link.world_size()};
    // Small steps at first: the mean squares that Adam divides by are poor until it has seen some gradients.
    const WarmUp rate{CosineDecay{.rate = optimizer.options().learning_rate,
                                  .steps = static_cast<std::int64_t>(loader.batches()) * settings.epochs},
                      200, 0.01};
    std::ofstream curve;
    if (speaks && !settings.curve.empty()) {
        curve.open(settings.curve);
        if (!curve) throw ConfigurationError("--curve \"" + settings.curve + "\" cannot be written");
        curve << "step,epoch,loss,test_accuracy\n";
    }

    std::int64_t step = 0;
    std::vector<std::int64_t> counts;
    for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
        double loss_sum = 0;
        {
            const std::string label = "epoch " + std::to_string(epoch) + "/" + std::to_string(settings.epochs);
            Progress progress{label, files.train.size(), speaks};
            for (const auto& batch : loader.epoch(static_cast<std::uint64_t>(epoch))) {
                optimizer.set_learning_rate(rate(step));
                const MeanLoss loss = replica.backward(batch);  // shard, backward, average
                optimizer.step(replica.model());
                loss_sum += loss.mean * loss.weight;
                progress.advance(batch.rows(), loss.mean);
                if (speaks && settings.losses)
                    std::printf("step %lld  loss %.9g\n", static_cast<long long>(step), loss.mean);
                if (curve.is_open()) curve << step << ',' << epoch << ',' << loss.mean << ",\n";
                ++step;
            }
        }
        counts = confusion(replica.model(), files.test, link);
        if (!speaks) continue;
        const double accuracy = static_cast<double>(right_of(counts)) / static_cast<double>(files.test.size());
        if (curve.is_open()) curve << step - 1 << ',' << epoch << ",," << accuracy << "\n";
        std::printf("epoch %d/%d  loss %.4f  test accuracy %.4f\n", epoch, settings.epochs,
                    loss_sum / static_cast<double>(files.train.size()), accuracy);
        std::fflush(stdout);
    }
    if (speaks) print_confusion(counts);
    if (curve.is_open() && !curve.flush()) {
        throw ConfigurationError("--curve \"" + settings.curve + "\" cannot be written to its end");
    }
}

void run(const Settings& settings) {
    example::check(settings.launch);
    const Files files{load(settings.data, "train"), load(settings.data, "t10k")};
    const auto with = [&](const auto& optimizer) {
        example::run(settings.launch, [&](auto link) { train(settings, files, optimizer, link); });
    };
    if (settings.optimizer == "sgd") return with(Sgd{{.learning_rate = 0.05, .momentum = 0.9}});
    if (settings.optimizer == "adamw") return with(AdamW{{.learning_rate = 0.001, .weight_decay = 0.01}});
    with(Adam{{.learning_rate = 0.001}});
}

}  // namespace

int main(int count, char** arguments) {
    try {
        run(settings_from(count, arguments));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mnist: %s\n", error.what());
        return 1;
    }
}
