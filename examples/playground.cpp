// SPDX-License-Identifier: MIT
// Writes a web page that plays the library's schedules, step by step, in any browser: `--help`.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <getopt.h>

#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/schedule.hpp>
#include <lockstep/topology/simulate.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/topology/verify.hpp>

#include "flags.hpp"
#include "playground_page.hpp"

using namespace lockstep;

namespace {

constexpr std::array worlds{2, 3, 4, 5, 6, 7, 8};
constexpr std::array<std::size_t, 5> sizes{1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
/// What the page says of it.
constexpr LinkModel network{
    .latency = 25e-6, .seconds_per_byte = 1 / 1.25e9, .seconds_per_byte_combined = 1 / 10e9, .overhead = 1e-6};

constexpr const char* help = R"(usage: playground [FLAGS]
Writes one HTML file, which needs nothing else: it plays every topology over 2 to 8 ranks, round by round.

  --out FILE   where to (playground.html)
  --help       this text
)";

// ---- Schedules as JavaScript ------------------------------------------------------------------------------------

/// `[a,b,c]`
template <class Values, class Text>
std::string list(const Values& values, const Text& text) {
    std::string out = "[";
    const char* separator = "";
    for (const auto& value : values) {
        out += separator + text(value);
        separator = ",";
    }
    return out + "]";
}
template <class Values>
std::string numbers(const Values& values) {
    return list(values, [](auto value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
        return std::string(text);
    });
}

std::string text_of(const Schedule& schedule) {
    return list(schedule, [](const std::vector<Step>& steps) {
        return list(steps, [](const Step& step) {
            return numbers(
                std::array{step.send.peer, step.send.first_chunk, step.send.chunk_count, step.receive.peer,
                           step.receive.first_chunk, step.receive.chunk_count,
                           step.receive.any() || step.fold == Fold::add_kept ? static_cast<int>(step.fold) : 0});
        });
    });
}

/// What the page needs to know of one topology over `world` ranks.
template <Topology Shape>
std::string plan_of(int world) {
    if (const Verdict verdict = verify<Shape>(world); !verdict) throw ConfigurationError(verdict.text());
    const int chunks = Shape::chunks(world);
    std::vector<std::vector<int>> owns(static_cast<std::size_t>(world));
    std::uint64_t messages = 0;
    for (int rank = 0; rank < world; ++rank) {
        for (int chunk = 0; chunk < chunks; ++chunk) {
            owns[static_cast<std::size_t>(rank)].push_back(Shape::owns(rank, world, chunk) ? 1 : 0);
        }
        messages += counts_of<Shape>(rank, world, static_cast<std::size_t>(chunks)).messages_sent;
    }
    std::vector<double> seconds;
    std::vector<std::uint64_t> sent;
    for (const std::size_t size : sizes) {
        const std::size_t elements = size / sizeof(float);
        seconds.push_back(simulate<Shape>(world, elements, sizeof(float), network).seconds);
        sent.push_back(0);
        for (int rank = 0; rank < world; ++rank) {
            sent.back() = std::max(sent.back(), counts_of<Shape>(rank, world, elements).elements_sent * sizeof(float));
        }
    }
    return "{\"chunks\":" + std::to_string(chunks) + ",\"messages\":" + std::to_string(messages) +
           ",\"owns\":" + list(owns, [](const std::vector<int>& row) { return numbers(row); }) +
           ",\"seconds\":" + numbers(seconds) + ",\"sent\":" + numbers(sent) +
           ",\"reduce\":" + text_of(schedule_of<Shape>(Half::reduce, world)) +
           ",\"distribute\":" + text_of(schedule_of<Shape>(Half::distribute, world)) + "}";
}

template <Topology Shape>
std::string topology(const char* idea) {
    std::string text = std::string("{\"name\":\"") + Shape::name + "\",\"idea\":\"" + idea + "\",\"worlds\":{";
    for (const int world : worlds) {
        text += (world == worlds.front() ? "\"" : ",\"") + std::to_string(world) + "\":" + plan_of<Shape>(world);
    }
    return text + "}}";
}

std::string page() {
    const std::array topologies{
        topology<Naive>(
            "One rank adds everything, and hands the sum to everyone: the plainest way, and a crowd at one door."),
        topology<Tree>(
            "Pairs add, then pairs of pairs: few rounds, but half of the ranks are idle from the second on."),
        topology<Ring>("Each rank sends one chunk to its right and adds the one from its left: all links are busy all "
                       "the time, and time hardly depends on the number of ranks when buffers are long."),
        topology<Direct>("Every rank owns a chunk, and gets everybody's numbers for it straight from them, one rank "
                         "after the other; they are added in the order of ranks."),
        topology<RecursiveDoubling>("The butterfly: partners at distance 1, 2, 4, ... swap all they know. No way has "
                                    "fewer rounds; every message is the whole buffer."),
        topology<HalvingDoubling>("Partners swap halves, then quarters, ...; the way back doubles what is known. As "
                                  "few bytes as a ring, in far fewer rounds, where ranks are a power of two."),
        topology<Circulant>("Ranks in a circle pass on all that must go far, at halving distances: few rounds and few "
                            "bytes for any number of ranks."),
        topology<DoubleTree>("Two trees, in which leaves of one are inside the other: each carries half of the buffer, "
                             "in pieces that follow one another."),
        topology<Pipelined<Tree>>(
            "A tree that works in pieces: while a rank hands one piece on, it already receives the next."),
        topology<Hierarchical<Ring, Ring, 2>>(
            "Groups of two add among themselves, then groups among each other: for hosts with several ranks."),
    };
    std::string all;
    for (const std::string& each : topologies) all += (all.empty() ? "" : ",\n") + each;
    return std::string(example::page_head) + "{\"worlds\":" + numbers(worlds) + ",\"sizes\":" + numbers(sizes) +
           ",\"topologies\":[\n" + all + "]}" + example::page_script;
}

void run(int count, char** arguments) {
    std::string path = "playground.html";
    constexpr std::array<option, 3> flags{
        {{"out", required_argument, nullptr, 0}, {"help", no_argument, nullptr, 1}, {}}};
    example::each_flag(count, arguments, flags.data(), [&path](int flag, const std::string& text) {
        if (flag == 0) {
            path = text;
        } else {
            std::fputs(help, stdout);
            std::exit(0);
        }
    });
    const std::string text = page();
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file != nullptr) good = std::fclose(file) == 0 && good;
    if (!good) throw ConfigurationError("--out \"" + path + "\" cannot be written");
    std::printf("wrote %s, %zu bytes: open it in a browser\n", path.c_str(), text.size());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        run(count, arguments);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "playground: %s\n", error.what());
        return 1;
    }
}
