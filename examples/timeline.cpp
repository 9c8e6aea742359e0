// SPDX-License-Identifier: MIT
// Where does the time of a step go? Trains a perceptron on observed links, and shows what every rank did: `--help`.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <getopt.h>

#include <lockstep/lockstep.hpp>
#include <lockstep/observe/chrome_trace.hpp>
#include <lockstep/observe/merge.hpp>
#include <lockstep/observe/observed.hpp>
#include <lockstep/observe/picture.hpp>
#include <lockstep/observe/summary.hpp>

#include "flags.hpp"
#include "launch.hpp"

using namespace lockstep;

namespace {

using Net = Network<Sequential<Linear<256, 512>, Relu, Linear<512, 256>, Relu, Linear<256, 10>>, CrossEntropy>;

const std::vector<std::string> overlaps{"none", "bucket", "thread"};

struct Settings {
    example::Launch launch{.workers = 3};
    std::string overlap = "none";
    int rows = 96;
    int steps = 50;
    int slow = -1;
    std::string trace;
    std::string svg;
};

constexpr const char* help = R"(usage: timeline [FLAGS]
Trains a perceptron 256-512-256-10 on numbers of its own, notes what every worker does, and prints where the time has gone.

  --workers N      workers that train together, 1 to 64 (3)
  --transport T    threads: workers are threads; tcp or unix: they are processes, joined by sockets (threads)
  --overlap O      when gradients are summed: none: after backward; bucket: in buckets while backward runs; thread: the
                   same by a thread of its own (none)
  --rows R         rows of a global batch, 1 to 100000 (96)
  --slow RANK      gives this worker as many rows more as its share is: the others wait for it
  --steps S        1 to 100000 (50)
  --trace FILE     writes the timelines of all workers in Chrome's trace format: open it at ui.perfetto.dev
  --svg FILE       draws the last two steps
  --timeout T      how long a worker waits for the others in one step before that is an error (60s)
  --help           this text
)";

Settings settings_from(int count, char** arguments) {
    enum Flag { workers, transport, overlap, rows, slow, steps, trace, svg, timeout, show_help };
    constexpr std::array<option, 11> flags{{{"workers", required_argument, nullptr, workers},
                                            {"transport", required_argument, nullptr, transport},
                                            {"overlap", required_argument, nullptr, overlap},
                                            {"rows", required_argument, nullptr, rows},
                                            {"slow", required_argument, nullptr, slow},
                                            {"steps", required_argument, nullptr, steps},
                                            {"trace", required_argument, nullptr, trace},
                                            {"svg", required_argument, nullptr, svg},
                                            {"timeout", required_argument, nullptr, timeout},
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
            case overlap: settings.overlap = example::word("--overlap", text, overlaps); break;
            case rows: settings.rows = number("--rows", text, 1, 100'000); break;
            case slow: settings.slow = number("--slow", text, 0, 63); break;
            case steps: settings.steps = number("--steps", text, 1, 100'000); break;
            case trace: settings.trace = text; break;
            case svg: settings.svg = text; break;
            case timeout: settings.launch.timeout = Seconds{example::seconds("--timeout", text)}; break;
            default: std::fputs(help, stdout); std::exit(0);
        }
    });
    return settings;
}

/// From where on the last two steps of rank 0 can be seen.
std::int64_t last_steps(const std::vector<Event>& events) {
    std::vector<std::int64_t> begins;
    for (const Event& event : events) {
        if (event.title() == "forward") begins.push_back(event.begin);
    }
    return begins.size() < 2 ? 0 : begins[begins.size() - 2];
}

void write(const std::string& path, const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr) good = std::fclose(file) == 0 && good;
    if (!good) throw ConfigurationError(path + " cannot be written");
    std::printf("wrote %s\n", path.c_str());
}

/// What one worker does.
template <class Link>
void train(const Settings& settings, Link inner) {
    Timeline timeline;
    Observed<Link> link(inner, timeline);
    const auto overlap =
        static_cast<Overlap>(std::find(overlaps.begin(), overlaps.end(), settings.overlap) - overlaps.begin());
    DataParallel<Net, Ring, Observed<Link>> replica{Net{1}, link, DataParallelOptions{.overlap = overlap}};
    Sgd optimizer{{.learning_rate = 0.05, .momentum = 0.9}};
    std::size_t own = shard_of(static_cast<std::size_t>(settings.rows), link.rank(), link.world_size()).size;
    if (link.rank() == settings.slow) own *= 2;
    std::vector<float> inputs(own * Net::input_size);
    std::vector<std::int32_t> labels(own);
    Random random(7, static_cast<std::uint64_t>(link.rank()));
    for (float& input : inputs) input = static_cast<float>(random.uniform(-1, 1));
    for (std::int32_t& label : labels) label = static_cast<std::int32_t>(random.below(Net::output_size));
    const Net::batch_type rows{MatrixView<const float>(inputs.data(), own, Net::input_size), labels};
    for (int step = 0; step < settings.steps + 1; ++step) {
        if (step == 1) {
            barrier(inner);
            timeline.clear();  // The first step allocates.
        }
        replica.backward_shard(rows);
        replica.step(optimizer);
    }
    const MergedTimeline merged = merge(link);
    if (link.rank() != 0) return;
    std::fputs(summary(merged).c_str(), stdout);
    if (!settings.trace.empty()) {
        write_chrome_trace(settings.trace, merged);
        std::printf("wrote %s\n", settings.trace.c_str());
    }
    if (!settings.svg.empty()) {
        const std::int64_t begin = last_steps(merged.ranks[0]);
        std::int64_t end = begin;
        for (const Event& event : merged.ranks[0]) end = std::max(end, event.end);
        write(settings.svg, timeline_svg(merged, begin, end));
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const Settings settings = settings_from(count, arguments);
        example::check(settings.launch);
        example::run(settings.launch, [&](auto link) { train(settings, link); });
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "timeline: %s\n", error.what());
        return 1;
    }
}
