// SPDX-License-Identifier: MIT
// Everything that follows from a schedule without running it: counts, proofs, pictures, predicted times: `--help`.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <getopt.h>
#include <sys/stat.h>

#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/picture.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/schedule.hpp>
#include <lockstep/topology/simulate.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/topology/verify.hpp>

#include "flags.hpp"

using namespace lockstep;

namespace {

// ---- The topologies ---------------------------------------------------------------------------------------------

/// A topology as a row of a table: from here on nothing is a template.
struct Row {
    const char* name;
    const char* remark;
    Counts (*counts)(int rank, int world_size, std::size_t elements);
    Verdict (*verify)(int world_size);
    Prediction (*simulate)(int world_size, std::size_t elements, std::size_t element_bytes, const LinkModel& model);
    std::string (*picture)(int world_size);
};

template <Topology Shape>
constexpr Row row(const char* remark = "") {
    return {Shape::name, remark, counts_of<Shape>, verify<Shape>, simulate<Shape>, space_time_svg<Shape>};
}

constexpr std::array topologies{
    row<Naive>(),
    row<Tree>(),
    row<Ring>(),
    row<RecursiveDoubling>(),
    row<HalvingDoubling>(),
    row<Direct>(),
    row<Circulant>(),
    row<DoubleTree>(),
    row<Pipelined<Tree>>("   Pipelined<Tree>: 8 pieces"),
    row<Hierarchical<Ring, Ring, 4>>("   Hierarchical<Ring, Ring, 4>: groups of 4 ranks"),
};

// ---- Flags ------------------------------------------------------------------------------------------------------

constexpr int largest_proof = 64;
constexpr int largest_world = 2048;

struct Settings {
    std::string topology = "all";
    int workers = 8;
    bool workers_given = false;
    std::string svg;
    bool verify = false;
    bool simulate = false;
    std::size_t bytes = 1 << 20;
    double bandwidth = 10e9;
    double reduce_bandwidth = 10e9;
    LinkModel model{.latency = 25e-6, .overhead = 1e-6};
};

constexpr const char* help = R"(usage: topologies [FLAGS]
Shows the ways in which ranks can sum a buffer. Without flags: how much each of them sends and adds.

  --topology T     naive, tree, ring, recursive_doubling, halving_doubling, direct, circulant, double_tree, pipelined,
                   hierarchical or all (all)
  --workers N      ranks, 1 to 2048; 1 to 64 to draw or to verify (8)
  --svg FILE       draws the schedule; for all: FILE is a directory, or has a % where the topology's name shall stand
  --verify         proves that the schedule sums, for 1 to 64 ranks or for those of --workers
  --simulate       predicts the time of one sum, by
      --bytes B              size of the buffer of float32 (1MiB)
      --latency L            time that every message takes (25us)
      --bandwidth W          of a rank's link, each way (10GB/s)
      --overhead O           work for each message at sender and receiver (1us)
      --reduce-bandwidth R   bytes that a rank can add in a second (10GB/s)
      --slow-rank R          a rank that takes
      --slowdown F           times as long for all it does (2)
  --help           this text
)";

Settings settings_from(int count, char** arguments) {
    enum Flag {
        topology,
        workers,
        svg,
        verify,
        simulate,
        bytes,
        latency,
        bandwidth,
        overhead,
        reduce,
        slow,
        slowdown,
        show
    };
    constexpr std::array<option, 14> flags{{{"topology", required_argument, nullptr, topology},
                                            {"workers", required_argument, nullptr, workers},
                                            {"svg", required_argument, nullptr, svg},
                                            {"verify", no_argument, nullptr, verify},
                                            {"simulate", no_argument, nullptr, simulate},
                                            {"bytes", required_argument, nullptr, bytes},
                                            {"latency", required_argument, nullptr, latency},
                                            {"bandwidth", required_argument, nullptr, bandwidth},
                                            {"overhead", required_argument, nullptr, overhead},
                                            {"reduce-bandwidth", required_argument, nullptr, reduce},
                                            {"slow-rank", required_argument, nullptr, slow},
                                            {"slowdown", required_argument, nullptr, slowdown},
                                            {"help", no_argument, nullptr, show},
                                            {}}};
    Settings settings;
    std::string workers_text = std::to_string(settings.workers);
    std::string needs_simulate;
    bool slowdown_given = false;
    const auto speed = [](const std::string& flag, const std::string& text) {
        const double value = example::bytes_per_second(flag, text);
        if (value > 0) return value;
        throw ConfigurationError(flag + " \"" + text + "\" would take for ever");
    };
    example::each_flag(count, arguments, flags.data(), [&](int flag, const std::string& text) {
        if (flag >= bytes && flag < show)
            needs_simulate = std::string("--") + flags.at(static_cast<std::size_t>(flag)).name;
        switch (flag) {
            case topology: {
                std::vector<std::string> known;
                for (const Row& each : topologies) known.emplace_back(each.name);
                known.emplace_back("all");
                settings.topology = example::word("--topology", text, known);
                break;
            }
            case workers:
                settings.workers = example::number("--workers", workers_text = text, 1, largest_world);
                settings.workers_given = true;
                break;
            case svg: settings.svg = text; break;
            case verify: settings.verify = true; break;
            case simulate: settings.simulate = true; break;
            case bytes: {
                const double size = example::bytes("--bytes", text);
                if (size > 1e15) throw ConfigurationError("--bytes \"" + text + "\" is more than 1 PB");
                settings.bytes = static_cast<std::size_t>(size);
                if (settings.bytes % sizeof(float) == 0) break;
                throw ConfigurationError("--bytes \"" + text + "\" is no whole number of float32, of 4 bytes each");
            }
            case latency: settings.model.latency = example::seconds("--latency", text); break;
            case bandwidth: settings.bandwidth = speed("--bandwidth", text); break;
            case overhead: settings.model.overhead = example::seconds("--overhead", text); break;
            case reduce: settings.reduce_bandwidth = speed("--reduce-bandwidth", text); break;
            case slow: settings.model.slow_rank = example::number("--slow-rank", text, 0, largest_world - 1); break;
            case slowdown:
                settings.model.slowdown = example::factor("--slowdown", text);
                slowdown_given = true;
                break;
            default: std::fputs(help, stdout); std::exit(0);
        }
    });
    if (!settings.simulate && !needs_simulate.empty()) {
        throw ConfigurationError(needs_simulate + " says nothing without --simulate");
    }
    if (!settings.svg.empty() || settings.verify) example::number("--workers", workers_text, 1, largest_proof);
    if (settings.model.slow_rank >= settings.workers) {
        throw ConfigurationError("--slow-rank \"" + std::to_string(settings.model.slow_rank) +
                                 "\" is outside a world of size " + std::to_string(settings.workers));
    }
    if (slowdown_given && settings.model.slow_rank < 0) throw ConfigurationError("--slowdown needs a --slow-rank");
    if (!slowdown_given) settings.model.slowdown = 2;
    settings.model.seconds_per_byte = 1 / settings.bandwidth;
    settings.model.seconds_per_byte_combined = 1 / settings.reduce_bandwidth;
    return settings;
}

std::vector<Row> chosen(const Settings& settings) {
    std::vector<Row> rows;
    for (const Row& each : topologies) {
        if (settings.topology == "all" || settings.topology == each.name) rows.push_back(each);
    }
    return rows;
}

// ---- Tables -----------------------------------------------------------------------------------------------------

/// The largest counts of any rank, each by itself.
Counts busiest(const Row& topology, int world_size, std::size_t elements) {
    Counts most;
    for (int rank = 0; rank < world_size; ++rank) {
        const Counts counts = topology.counts(rank, world_size, elements);
        most.rounds = std::max(most.rounds, counts.rounds);
        most.messages_sent = std::max(most.messages_sent, counts.messages_sent);
        most.elements_sent = std::max(most.elements_sent, counts.elements_sent);
        most.elements_combined = std::max(most.elements_combined, counts.elements_combined);
    }
    return most;
}

std::string ranks(int count) { return std::to_string(count) + (count == 1 ? " rank" : " ranks"); }

/// Three digits and a unit: `26.1 us`, `4.00 MiB`.
std::string readable(double value, double base, const std::vector<std::string>& units) {
    std::size_t unit = 0;
    while (value >= base && unit + 1 < units.size()) {
        value /= base;
        ++unit;
    }
    char text[64];
    std::snprintf(text, sizeof text, "%.*f %s", value >= 100 ? 0 : value >= 10 ? 1 : 2, value, units[unit].c_str());
    return text;
}
std::string readable_bytes(double bytes) { return readable(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}); }
std::string readable_seconds(double seconds) { return readable(seconds * 1e6, 1000, {"us", "ms", "s"}); }

void count(const Settings& settings) {
    constexpr std::size_t elements = longest_chunk;  // in one segment with every topology
    std::printf("A buffer of n elements, summed over %s. Of the busiest rank:\n\n", ranks(settings.workers).c_str());
    std::printf("%-20s%8s%10s%10s%10s\n", "topology", "rounds", "messages", "sends", "adds");
    for (const Row& each : chosen(settings)) {
        const Counts most = busiest(each, settings.workers, elements);
        std::printf("%-20s%8llu%10llu%8.2f n%8.2f n%s\n", each.name, static_cast<unsigned long long>(most.rounds),
                    static_cast<unsigned long long>(most.messages_sent),
                    static_cast<double>(most.elements_sent) / static_cast<double>(elements),
                    static_cast<double>(most.elements_combined) / static_cast<double>(elements), each.remark);
    }
    std::printf("\nMore than counts: --verify, --simulate, --svg FILE; see --help.\n");
}

void predict(const Settings& settings) {
    const LinkModel& model = settings.model;
    const std::size_t elements = settings.bytes / sizeof(float);
    std::printf("%s of float32, summed over %s: latency %s, overhead %s, link %s/s, adding %s/s",
                readable_bytes(static_cast<double>(settings.bytes)).c_str(), ranks(settings.workers).c_str(),
                readable_seconds(model.latency).c_str(), readable_seconds(model.overhead).c_str(),
                readable(settings.bandwidth, 1000, {"B", "KB", "MB", "GB", "TB"}).c_str(),
                readable(settings.reduce_bandwidth, 1000, {"B", "KB", "MB", "GB", "TB"}).c_str());
    if (model.slow_rank >= 0) std::printf("; rank %d takes %g times as long", model.slow_rank, model.slowdown);
    std::printf("\n\n%-20s%10s%12s%16s%14s\n", "topology", "rounds of", "messages", "bytes sent by", "predicted");
    std::printf("%-20s%10s%12s%16s%14s\n", "", "busiest", "of all", "the busiest", "time");

    const std::vector<Row> rows = chosen(settings);
    std::vector<Prediction> predictions;
    double best = 0;
    for (const Row& each : rows) {
        predictions.push_back(each.simulate(settings.workers, elements, sizeof(float), model));
        const double seconds = predictions.back().seconds;
        best = predictions.size() == 1 ? seconds : std::min(best, seconds);
    }
    for (std::size_t index = 0; index < rows.size(); ++index) {
        const Counts most = busiest(rows[index], settings.workers, elements);
        const Prediction& prediction = predictions[index];
        const char* const mark = rows.size() > 1 && prediction.seconds <= best ? "  best" : "";
        std::printf("%-20s%10llu%12llu%16s%14s%s%s\n", rows[index].name, static_cast<unsigned long long>(most.rounds),
                    static_cast<unsigned long long>(prediction.messages),
                    readable_bytes(static_cast<double>(most.elements_sent * sizeof(float))).c_str(),
                    readable_seconds(prediction.seconds).c_str(), mark, rows[index].remark);
    }
}

// ---- Proofs and pictures ------------------------------------------------------------------------------------------

bool prove(const Settings& settings) {
    const int first = settings.workers_given ? settings.workers : 1;
    const int last = settings.workers_given ? settings.workers : largest_proof;
    const std::string worlds = (first == last ? "" : std::to_string(first) + " to ") + ranks(last);
    bool all_right = true;
    for (const Row& each : chosen(settings)) {
        Verdict verdict;
        int world_size = first;
        while ((verdict = each.verify(world_size)) && world_size < last) ++world_size;
        if (verdict) {
            std::printf("%-20scorrect for %s\n", each.name, worlds.c_str());
        } else {
            all_right = false;
            std::printf("%-20swrong for %s: %s\n", each.name, ranks(world_size).c_str(), verdict.text().c_str());
        }
    }
    return all_right;
}

std::string picture_path(const Settings& settings, const std::string& name) {
    const std::string& path = settings.svg;
    struct stat status {};
    if (path.back() == '/' || (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))) {
        return path + (path.back() == '/' ? "" : "/") + name + "-" + std::to_string(settings.workers) + ".svg";
    }
    const std::size_t place = path.find('%');
    if (place != std::string::npos) return path.substr(0, place) + name + path.substr(place + 1);
    if (settings.topology != "all") return path;
    throw ConfigurationError("--svg \"" + path +
                             "\" is one file for all topologies: name a directory, put a % into it" +
                             " where the topology's name shall stand, or choose a --topology");
}

void draw(const Settings& settings) {
    for (const Row& each : chosen(settings)) {
        const std::string path = picture_path(settings, each.name);
        const std::string text = each.picture(settings.workers);
        std::FILE* const file = std::fopen(path.c_str(), "w");
        const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
        const bool closed = file != nullptr && std::fclose(file) == 0;
        if (!written || !closed) throw ConfigurationError("--svg \"" + path + "\" cannot be written");
        std::printf("wrote %s\n", path.c_str());
    }
}

bool run(const Settings& settings) {
    if (!settings.svg.empty()) draw(settings);
    if (settings.simulate) predict(settings);
    if (settings.verify) return prove(settings);
    if (settings.svg.empty() && !settings.simulate) count(settings);
    return true;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return run(settings_from(count, arguments)) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "topologies: %s\n", error.what());
        return 1;
    }
}
