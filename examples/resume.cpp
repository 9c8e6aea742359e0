// SPDX-License-Identifier: MIT
// A run that saves itself, is killed, and goes on with any number of workers as if nothing had happened: `--help`.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <getopt.h>
#include <unistd.h>

#include <lockstep/checkpoint/checkpoint.hpp>
#include <lockstep/lockstep.hpp>
#include <lockstep/optim/adam.hpp>

#include "flags.hpp"
#include "launch.hpp"

using namespace lockstep;

namespace {

using Net = Network<Sequential<Linear<64, 64>, Relu, Linear<64, 10>>, CrossEntropy>;

struct Settings {
    example::Launch launch{.workers = 2};
    std::string checkpoint = "resume.safetensors";
    int steps = 60;
    int every = 10;
    int die_at = -1;
    std::string data = LOCKSTEP_EXAMPLE_DATA "/digits.csv";
};

constexpr const char* help = R"(usage: resume [FLAGS]
Trains on handwritten digits, and saves all that it needs to go on; starts from there if the file exists.

  --workers N        workers that train together, 1 to 64 (2); another number may go on
  --transport T      threads, tcp or unix (threads)
  --checkpoint FILE  where to save and to go on from (resume.safetensors)
  --steps N          the step to end with, 1 to 100000 (60)
  --every K          steps from one save to the next, 1 to 100000 (10)
  --die-at N         before step N, end as a killed process does: nothing is cleaned up
  --data FILE        a CSV file with 64 pixels of 0 to 16 and a label in every row
  --help             this text

  resume --die-at 37; resume --workers 3; python3 read_checkpoint.py resume.safetensors
)";

Settings settings_from(int count, char** arguments) {
    enum Flag { workers, transport, checkpoint, steps, every, die_at, data, show_help };
    constexpr std::array<option, 9> flags{{{"workers", required_argument, nullptr, workers},
                                           {"transport", required_argument, nullptr, transport},
                                           {"checkpoint", required_argument, nullptr, checkpoint},
                                           {"steps", required_argument, nullptr, steps},
                                           {"every", required_argument, nullptr, every},
                                           {"die-at", required_argument, nullptr, die_at},
                                           {"data", required_argument, nullptr, data},
                                           {"help", no_argument, nullptr, show_help},
                                           {}}};
    Settings settings;
    example::each_flag(count, arguments, flags.data(), [&settings](int flag, const std::string& text) {
        using example::number;
        switch (flag) {
            case workers:
                settings.launch.workers = number("--workers", text, 1, 64);
                settings.launch.workers_given = true;
                break;
            case transport:
                settings.launch.transport = example::word("--transport", text, example::transports);
                settings.launch.transport_given = true;
                break;
            case checkpoint: settings.checkpoint = text; break;
            case steps: settings.steps = number("--steps", text, 1, 100'000); break;
            case every: settings.every = number("--every", text, 1, 100'000); break;
            case die_at: settings.die_at = number("--die-at", text, 0, 100'000); break;
            case data: settings.data = text; break;
            default: std::fputs(help, stdout); std::exit(0);
        }
    });
    return settings;
}

/// What one worker does.
template <class Link>
void train(const Settings& settings, const LabelledDataset<float>& digits, bool go_on, Link link) {
    const bool speaks = link.rank() == 0;
    DataParallel<Net, Ring, Link> replica{Net{1}, link};
    Adam optimizer{{.learning_rate = 0.002}};
    Loader loader{digits, ShuffledSampler{7}, 64};
    Position position;
    if (go_on) position = load_checkpoint(settings.checkpoint, replica, optimizer);
    if (speaks && go_on) {
        std::printf("goes on after step %d, as %d workers\n", static_cast<int>(replica.steps()), link.world_size());
    }

    const auto last = static_cast<std::uint64_t>(settings.steps);
    for (; replica.steps() < last; ++position.epoch, position.batch = 0) {
        const auto epoch = loader.epoch(position.epoch);
        while (position.batch < epoch.size() && replica.steps() < last) {
            if (static_cast<int>(replica.steps()) == settings.die_at) {
                std::fflush(stdout);
                std::raise(SIGKILL);
            }
            const MeanLoss loss = replica.backward(epoch[position.batch]);
            replica.step(optimizer);
            ++position.batch;
            if (!speaks) continue;
            std::printf("step %d  loss %.17g\n", static_cast<int>(replica.steps()), loss.mean);
            if (replica.steps() % static_cast<std::uint64_t>(settings.every) == 0 || replica.steps() == last) {
                save_checkpoint(settings.checkpoint, replica, optimizer, position);
            }
        }
    }
    const Net& trained = replica.model();
    if (speaks) std::printf("parameters: %s\n", hex_digest(trained.parameters()).c_str());
    std::fflush(stdout);
}

void run(const Settings& settings) {
    example::check(settings.launch);
    auto digits = labelled_from_csv(read_csv<float>(settings.data));
    if (digits.features() != 64) {
        throw FormatError(settings.data + ": " + std::to_string(digits.features()) + " pixels in a row, not 64");
    }
    digits.scale(1.0F / 16);
    // Asked for once: workers must not differ in the answer.
    const bool go_on = ::access(settings.checkpoint.c_str(), F_OK) == 0;
    example::run(settings.launch, [&](auto link) { train(settings, digits, go_on, link); });
}

}  // namespace

int main(int count, char** arguments) {
    try {
        run(settings_from(count, arguments));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "resume: %s\n", error.what());
        return 1;
    }
}
