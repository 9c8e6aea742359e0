// SPDX-License-Identifier: MIT
// Trains on real handwritten digits with any number of workers, any topology, over threads, sockets or MPI: `--help`.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include <getopt.h>

#include <lockstep/collectives/auto.hpp>
#include <lockstep/lockstep.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>

#include "flags.hpp"
#include "launch.hpp"

using namespace lockstep;

namespace {

using Architecture = Sequential<Linear<64, 64>, Relu, Linear<64, 10>>;
template <class Storage>
using Net = Network<Architecture, CrossEntropy, float, Storage>;
/// A program that knows its topology writes DataParallel<Model, Ring>; this one is told by a flag.
using AnyTopology = Auto<Naive, Tree, Ring, Direct, RecursiveDoubling, HalvingDoubling, Circulant, DoubleTree,
                         Pipelined<Tree>, Hierarchical<Ring, Ring, 2>>;

// ---- Flags ----------------------------------------------------------------------------------------------------

const std::vector<std::string> reducers = [] {
    std::vector<std::string> words = AnyTopology::candidates();
    words.emplace_back(AnyTopology::name);
    return words;
}();
const std::vector<std::string> optimizers{"sgd", "adam", "adamw"};
const std::vector<std::string> overlaps{"none", "bucket", "thread"};

struct Settings {
    example::Launch launch{};
    std::string reducer = "ring";
    std::string storage = "aligned";
    std::string optimizer = "sgd";
    std::string overlap = "none";
    int epochs = 30;
    int batch = 64;
    int accumulate = 1;
    bool sharded = false;
    int seed = 1;
    std::string data = LOCKSTEP_EXAMPLE_DATA "/digits.csv";
};

constexpr const char* help = R"(usage: digits [FLAGS]
Trains a small network on 1797 handwritten digits. A fifth of them is held out and tells the accuracy at the end.

  --workers N      workers that train together, 1 to 64 (4)
  --reducer R      how gradients are summed: naive, tree, ring, direct, recursive_doubling, halving_doubling, circulant,
                   double_tree, pipelined, hierarchical, or auto: what is predicted to be fastest (ring)
  --transport T    threads: workers are threads; tcp or unix: they are processes, joined by sockets (threads);
                   mpi, and nothing else, in digits_openmpi and digits_mpich, which mpirun starts
  --storage S      where parameters live: aligned, inline or shared_memory (aligned)
  --optimizer O    sgd, adam or adamw (sgd)
  --overlap O      when gradients are summed: none: after backward; bucket: in buckets while backward runs; thread: the
                   same by a thread of its own (none)
  --epochs E       times that all rows are seen, 1 to 10000 (30)
  --batch B        rows of a global batch, 1 to 100000 (64)
  --accumulate K   batches whose gradients make one step, with one communication, 1 to 1000 (1)
  --sharded        each worker keeps the optimizer's state of its own share of the parameters only
  --seed S         seed of first parameters and row order, 0 to 2147483647 (1)
  --timeout T      how long a worker waits for the others in one step before that is an error (60s)
  --data FILE      a CSV file with 64 pixels of 0 to 16 and a label in every row
  --help           this text

With RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set it is one worker of that job, wherever the others run:
  RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 digits     in one shell, and in another
  RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 digits
)";

Settings settings_from(int count, char** arguments) {
    enum Flag {
        workers,
        reducer,
        transport,
        storage,
        optimizer,
        overlap,
        epochs,
        batch,
        accumulate,
        sharded,
        seed,
        timeout,
        data,
        show_help
    };
    constexpr std::array<option, 15> flags{{{"workers", required_argument, nullptr, workers},
                                            {"reducer", required_argument, nullptr, reducer},
                                            {"transport", required_argument, nullptr, transport},
                                            {"storage", required_argument, nullptr, storage},
                                            {"optimizer", required_argument, nullptr, optimizer},
                                            {"overlap", required_argument, nullptr, overlap},
                                            {"epochs", required_argument, nullptr, epochs},
                                            {"batch", required_argument, nullptr, batch},
                                            {"accumulate", required_argument, nullptr, accumulate},
                                            {"sharded", no_argument, nullptr, sharded},
                                            {"seed", required_argument, nullptr, seed},
                                            {"timeout", required_argument, nullptr, timeout},
                                            {"data", required_argument, nullptr, data},
                                            {"help", no_argument, nullptr, show_help},
                                            {}}};
    Settings settings;
    example::each_flag(count, arguments, flags.data(), [&settings](int flag, const std::string& text) {
        using example::number;
        using example::word;
        switch (flag) {
            case workers:
                settings.launch.workers = number("--workers", text, 1, 64);
                settings.launch.workers_given = true;
                break;
            case reducer: settings.reducer = word("--reducer", text, reducers); break;
            case transport:
                settings.launch.transport = word("--transport", text, example::transports);
                settings.launch.transport_given = true;
                break;
            case storage: settings.storage = word("--storage", text, {"aligned", "inline", "shared_memory"}); break;
            case optimizer: settings.optimizer = word("--optimizer", text, optimizers); break;
            case overlap: settings.overlap = word("--overlap", text, overlaps); break;
            case epochs: settings.epochs = number("--epochs", text, 1, 10'000); break;
            case batch: settings.batch = number("--batch", text, 1, 100'000); break;
            case accumulate: settings.accumulate = number("--accumulate", text, 1, 1000); break;
            case sharded: settings.sharded = true; break;
            case seed: settings.seed = number("--seed", text, 0, 2'147'483'647); break;
            case timeout: settings.launch.timeout = Seconds{example::seconds("--timeout", text)}; break;
            case data: settings.data = text; break;
            default: std::fputs(help, stdout); std::exit(0);
        }
    });
    if (settings.sharded && settings.overlap != "none") {
        throw ConfigurationError("--sharded sums when backward has ended: it does not go with --overlap " +
                                 settings.overlap);
    }
    return settings;
}

// ---- Training -------------------------------------------------------------------------------------------------

struct Digits {
    LabelledDataset<float> train;
    LabelledDataset<float> test;
};

/// Every fifth row is held out: a split that no seed changes.
Digits load(const std::string& path) {
    auto all = labelled_from_csv(read_csv<float>(path));
    if (all.features() != 64) {
        throw FormatError(path + ": " + std::to_string(all.features()) + " pixels in a row, not 64");
    }
    all.scale(1.0F / 16);
    std::vector<std::size_t> train;
    std::vector<std::size_t> test;
    for (std::size_t row = 0; row < all.size(); ++row) (row % 5 == 3 ? test : train).push_back(row);
    return {all.subset(train), all.subset(test)};
}

using AnyOptimizer = std::variant<Sgd<float>, Adam<float>, AdamW<float>>;

AnyOptimizer optimizer_of(const Settings& settings) {
    if (settings.optimizer == "adam") return Adam<float>{{.learning_rate = 0.005}};
    if (settings.optimizer == "adamw") return AdamW<float>{{.learning_rate = 0.005, .weight_decay = 0.01}};
    return Sgd<float>{{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-3}};
}

/// Which of `words` is it? Ranks compare numbers.
std::int32_t index_of(const std::string& word, const std::vector<std::string>& words) {
    return static_cast<std::int32_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

/// What one worker does.
template <class Storage, class Link>
void train(const Settings& settings, const Digits& digits, Link link) {
    const std::int32_t overlap = index_of(settings.overlap, overlaps);
    example::agree<8>({"--epochs", "--batch", "--accumulate", "--sharded", "--seed", "--reducer (by number)",
                       "--optimizer (by number)", "--overlap (by number)"},
                      {settings.epochs, settings.batch, settings.accumulate, settings.sharded ? 1 : 0, settings.seed,
                       index_of(settings.reducer, reducers), index_of(settings.optimizer, optimizers), overlap},
                      link);
    const bool speaks = link.rank() == 0;
    const auto seed = static_cast<std::uint64_t>(settings.seed);
    AnyTopology reducer;
    if (settings.reducer != AnyTopology::name) reducer.use(settings.reducer);
    DataParallel<Net<Storage>, AnyTopology, Link> replica{
        Net<Storage>{seed}, link, reducer, DataParallelOptions{.overlap = static_cast<Overlap>(overlap)}};
    AnyOptimizer any_optimizer = optimizer_of(settings);
    Loader loader{digits.train, ShuffledSampler{seed}, static_cast<std::size_t>(settings.batch)};

    const double rate =
        std::visit([](const auto& optimizer) { return optimizer.options().learning_rate; }, any_optimizer);
    const auto each_step = static_cast<std::size_t>(settings.accumulate);
    const bool accumulates = each_step > 1 || settings.sharded;

    std::size_t right = 0;
    for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
        double loss_sum = 0;
        // Smaller steps towards the end settle what large ones have found.
        const double rate_now = epoch * 3 > settings.epochs * 2 ? rate / 10 : rate;
        std::visit([&](auto& optimizer) { optimizer.set_learning_rate(rate_now); }, any_optimizer);
        {
            const std::string label = "epoch " + std::to_string(epoch) + "/" + std::to_string(settings.epochs);
            Progress progress{label, digits.train.size(), speaks};
            std::size_t batches = 0;
            for (const auto batch : loader.epoch(static_cast<std::uint64_t>(epoch))) {
                const auto rows = batch.all();
                ++batches;
                if (accumulates) {
                    replica.accumulate(rows);
                    if (batches % each_step != 0 && batches < loader.batches()) continue;
                }
                const MeanLoss loss = std::visit(
                    [&](auto& optimizer) {
                        if (settings.sharded) return replica.average_and_step(optimizer);
                        // Shard, backward, average; or only average what was accumulated.
                        const MeanLoss mean = accumulates ? replica.average() : replica.backward(rows);
                        replica.step(optimizer);
                        return mean;
                    },
                    any_optimizer);
                loss_sum += loss.mean * loss.weight;
                progress.advance(static_cast<std::size_t>(loss.rows), loss.mean);
            }
        }
        if (!speaks) continue;
        const auto test = digits.test.batch();
        right = correct(replica.model().forward(test.inputs), test.targets);
        std::printf("epoch %2d/%d  loss %.4f  test %zu/%zu\n", epoch, settings.epochs,
                    loss_sum / static_cast<double>(digits.train.size()), right, test.rows());
        std::fflush(stdout);
    }
    const Net<Storage>& trained = replica.model();
    std::printf("parameters: %s\n", hex_digest(trained.parameters()).c_str());
    std::fflush(stdout);
    barrier(link);  // All digests come before the last line.
    if (!speaks) return;
    std::printf("test accuracy: %.4f\n", static_cast<double>(right) / static_cast<double>(digits.test.size()));
}

// ---- Words of the command line to template arguments ------------------------------------------------------------

template <class Storage>
void launch(const Settings& settings, const Digits& digits) {
    example::run(settings.launch, [&](auto link) { train<Storage>(settings, digits, link); });
}

void run(const Settings& settings) {
    example::check(settings.launch);
    const Digits digits = load(settings.data);
    if (settings.storage == "aligned") return launch<Aligned>(settings, digits);
    if (settings.storage == "inline") return launch<Inline<Architecture::parameter_count>>(settings, digits);
    launch<SharedMemory>(settings, digits);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        run(settings_from(count, arguments));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return 1;
    }
}
