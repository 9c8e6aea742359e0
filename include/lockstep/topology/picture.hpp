// SPDX-License-Identifier: MIT
/// @file
/// A picture of a schedule: ranks from top to bottom, time from left to right, an arrow for each message. Pure SVG text.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/schedule.hpp>
#include <lockstep/topology/verify.hpp>

namespace lockstep {

namespace detail {

/// `c3` or `c3-5`
inline std::string chunk_names(int first, int count) {
    return "c" + std::to_string(first) + (count > 1 ? "-" + std::to_string(first + count - 1) : "");
}

/// Draws both halves, and who owns what between them.
class SpaceTime {
public:
    SpaceTime(const char* name, int chunks, const Schedule& reduce, const Schedule& distribute,
              const std::vector<std::string>& owned)
        : name_(name), chunks_(chunks), owned_(owned) {
        rounds_ = {run_in_rounds(0, reduce), run_in_rounds(1, distribute)};
        int chip = 0;
        for (const Event& event : events_) chip = (std::max)(chip, chip_width(event.what));
        for (const std::string& words : owned_) owner_width_ = (std::max)(owner_width_, width_of(words) + 10);
        const int ranks = static_cast<int>(owned_.size());
        lane_ = std::clamp(420 / ranks, 34, 64);
        const int room = 1120 - 2 * margin - rank_width - owner_width_ - 2 * gap;
        round_ = std::clamp(room / (std::max)(1, rounds_[0] + rounds_[1]), 24, 110);
        named_ = round_ >= chip + 34;
        begin_[0] = margin + rank_width;
        owners_ = begin_[0] + (std::max)(rounds_[0] * round_, 290) + gap;
        begin_[1] = owners_ + owner_width_ + gap;
        width_ = begin_[1] + (std::max)(rounds_[1] * round_, 290) + margin;
        bottom_ = top + ranks * lane_;
    }

    std::string svg() {
        headings();
        lanes();
        for (const Event& event : events_) {
            if (event.from < 0) continue;
            const int tail = x_of(event) + 4 + (named_ ? chip_width(event.what) : 0);
            arrow(tail, y_of(event.from), x_of(event) + round_ - radius - 2, y_of(event.to),
                  "class='message' stroke='" + colour_of(event.what.first_chunk) + "'");
        }
        for (const Event& event : events_) {
            const std::string colour = colour_of(event.what.first_chunk);
            mark(x_of(event) + round_ - radius - 2, y_of(event.to), event.fold, colour);
            if (event.from < 0) continue;
            if (named_) chip(x_of(event) + 4, y_of(event.from), event.what);
            else box(x_of(event) + 2, y_of(event.from) - 3, 6, 6, "fill='" + colour + "'");
        }
        const int height = legend() + margin;
        const std::string drawing = std::exchange(out_, {});
        put("<svg xmlns='http://www.w3.org/2000/svg' width='", width_, "' height='", height, "' viewBox='0 0 ", width_,
            " ", height, "' font-family='sans-serif' font-size='12'>\n<title>", title(), "</title>\n");
        box(0, 0, width_, height, "fill='white'");
        return out_ + drawing + "</svg>\n";
    }

private:
    /// A message, or (without `from`) the addition of what was kept, in a round of one of the halves.
    struct Event {
        std::size_t half;
        int round, from, to;
        Transfer what;
        Fold fold;
    };

    static constexpr int margin = 20, rank_width = 56, gap = 14, top = 124, radius = 6;

    /// Appends one half's events and returns the number of its rounds. A step begins when the ones before it are done; a
    /// message goes when both its ranks are there, and takes a round. Adding what was kept takes a round, too.
    int run_in_rounds(std::size_t half, const Schedule& schedule) {
        struct Progress {
            std::size_t step = 0;
            int begin = 0, end = 0;  // of the step, in rounds
            bool sent = false, received = false;
        };
        std::vector<Progress> ranks(schedule.size());
        int rounds = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
                Progress& mine = ranks[rank];
                if (mine.step == schedule[rank].size()) continue;
                const Step& step = schedule[rank][mine.step];
                const bool adds_kept = step.fold == Fold::add_kept;
                const auto sender = adds_kept ? rank : static_cast<std::size_t>((std::max)(step.receive.peer, 0));
                Progress& theirs = ranks[sender];
                const bool meets = !theirs.sent && theirs.step < schedule[sender].size() &&
                                   schedule[sender][theirs.step].send.peer == static_cast<int>(rank);
                if (!mine.received && (adds_kept || (step.receive.any() && meets))) {
                    const int round = (std::max)(mine.begin, theirs.begin);
                    events_.push_back(
                        {half, round, step.receive.peer, static_cast<int>(rank), step.receive, step.fold});
                    mine.end = (std::max)(mine.end, round + 1);
                    theirs.end = (std::max)(theirs.end, round + 1);
                    theirs.sent = theirs.sent || !adds_kept;
                    mine.received = moved = true;
                }
                if ((step.send.any() && !mine.sent) || (step.receive.any() && !mine.received)) continue;
                rounds = (std::max)(rounds, mine.end);
                mine = {.step = mine.step + 1, .begin = mine.end, .end = mine.end};
                moved = true;
            }
        }
        return rounds;
    }

    static int width_of(const std::string& words) { return static_cast<int>(words.size()) * 7; }
    static std::string names_of(const Transfer& what) { return chunk_names(what.first_chunk, what.chunk_count); }
    static int chip_width(const Transfer& what) { return width_of(names_of(what)) + 6; }
    static std::string count_of(std::ptrdiff_t count, const char* noun) {
        return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
    }
    /// Neighbouring chunks must not look alike.
    static std::string colour_of(int chunk) {
        static constexpr std::array<const char*, 16> colours{
            "#1f66b0", "#c62828", "#2e7d32", "#7b3fa0", "#d06a00", "#00838f", "#ad1457", "#6d4c41",
            "#3949ab", "#9e7b00", "#00695c", "#e05a7a", "#558b2f", "#4a148c", "#546e7a", "#8d3b00"};
        return colours[static_cast<std::size_t>(chunk) % colours.size()];
    }
    std::string title() const {
        std::string safe;
        for (const char letter : name_ + ", " + count_of(std::ssize(owned_), "rank")) {
            safe += letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : std::string(1, letter);
        }
        return safe;
    }
    int x_of(const Event& event) const { return begin_[event.half] + event.round * round_; }
    int y_of(int rank) const { return top + rank * lane_ + lane_ / 2; }

    static std::string text_of(int number) { return std::to_string(number); }
    static std::string text_of(double number) { return std::to_string(std::lround(number)); }
    static std::string text_of(const std::string& words) { return words; }
    template <class... Parts>
    void put(const Parts&... parts) {
        ((out_ += text_of(parts)), ...);
    }
    void text(int x, int y, const std::string& words, const std::string& style = "fill='#555555'") {
        put("<text x='", x, "' y='", y, "' ", style, ">", words, "</text>\n");
    }
    void box(int x, int y, int width, int height, const std::string& style) {
        put("<rect x='", x, "' y='", y, "' width='", width, "' height='", height, "' ", style, "/>\n");
    }
    void line(int x1, int y1, int x2, int y2, const char* colour) {
        put("<path d='M", x1, " ", y1, "L", x2, " ", y2, "' stroke='", colour, "'/>\n");
    }
    /// What is sent: at the tail of an arrow.
    void chip(int x, int y, const Transfer& what) {
        box(x, y - 9, chip_width(what), 18, "rx='3' fill='" + colour_of(what.first_chunk) + "'");
        text(x + chip_width(what) / 2, y + 4, names_of(what),
             "class='chunks' fill='white' text-anchor='middle' font-weight='bold'");
    }
    /// What becomes of it: plus, equals, a dot for kept, a capital sigma for the sum of what was kept.
    void mark(int x, int y, Fold fold, const std::string& colour) {
        const bool full = fold == Fold::add || fold == Fold::add_kept;
        put("<circle cx='", x, "' cy='", y, "' r='", radius, "' fill='", full ? colour : "white", "' stroke='", colour,
            "'/>\n<path fill='none' stroke='", full ? "white" : colour, "' stroke-width='1.6' d='M", x, " ", y,
            fold == Fold::add    ? "m-4 0h8m-4 -4v8"
            : fold == Fold::copy ? "m-3 -2h6m-6 4h6"
            : fold == Fold::keep ? "m-1 0h2"
                                 : "m3 -4h-6l4 4l-4 4h6",
            "'/>\n");
    }
    /// To the rim of the mark at the second point.
    void arrow(double x1, double y1, double x2, double y2, const std::string& style) {
        const double x = (x2 - x1) / std::hypot(x2 - x1, y2 - y1);
        const double y = (y2 - y1) / std::hypot(x2 - x1, y2 - y1);
        const auto behind = [&](double back, double aside) {
            return text_of(x2 - x * (radius + back) - y * aside) + " " + text_of(y2 - y * (radius + back) + x * aside);
        };
        put("<path ", style, " fill='none' stroke-width='1.4' d='M", x1, " ", y1, "L", behind(0, 0), "M", behind(7, 4),
            "L", behind(0, 0), "L", behind(7, -4), "'/>\n");
    }
    void owner(int x, int y, int width, const std::string& words) {
        box(x, y - 11, width, 22, "rx='3' fill='#fff3c4' stroke='#b08900'");
        text(x + width / 2, y + 4, words, "class='owner' text-anchor='middle'");
    }

    void lanes() {
        for (int rank = 0; rank < static_cast<int>(owned_.size()); ++rank) {
            const std::string& words = owned_[static_cast<std::size_t>(rank)];
            text(margin, y_of(rank) + 4, "rank " + std::to_string(rank), "class='rank'");
            line(begin_[0], y_of(rank), width_ - margin, y_of(rank), "#bbbbbb");
            if (!words.empty()) owner(owners_, y_of(rank), owner_width_, words);
        }
    }

    void headings() {
        const auto messages =
            std::count_if(events_.begin(), events_.end(), [](const Event& event) { return event.from >= 0; });
        text(margin, 30, title(), "font-size='19' font-weight='bold'");
        text(margin, 50, "Every rank brings a buffer of its own; at the end, every rank holds the sum of all buffers.");
        text(margin, 66,
             "The buffer is cut into " + count_of(chunks_, "chunk") + ", " + chunk_names(0, chunks_) + ". It takes " +
                 count_of(messages, "message") + ".");
        text(begin_[0], 94, "reduce: sums travel to their owners", "font-size='14' font-weight='bold'");
        text(begin_[1], 94, "distribute: results travel to everyone", "font-size='14' font-weight='bold'");
        for (const std::size_t half : {0U, 1U}) {
            if (rounds_[half] == 0) text(begin_[half], 112, "nothing to send");
            for (int round = 0; round <= rounds_[half]; ++round) {
                const int x = begin_[half] + round * round_;
                line(x, top, x, bottom_, "#eeeeee");
                if (round == rounds_[half]) continue;
                const std::string words = (round == 0 && round_ >= 60 ? "round " : "") + std::to_string(round + 1);
                text(x + round_ / 2, 112, words, "fill='#555555' text-anchor='middle'");
            }
        }
    }

    /// Returns where it ends.
    int legend() {
        int x = margin;
        int y = bottom_ + 30;
        const auto item = [&](int wide, const std::string& meaning, const auto& draw) {
            const int needed = wide + 8 + static_cast<int>(meaning.size()) * 6;
            if (x > margin && x + needed > width_ - margin) {
                x = margin;
                y += 26;
            }
            draw();
            text(x + wide + 8, y + 4, meaning);
            x += needed + 24;
        };
        const auto explain = [&](Fold fold, const char* meaning) {
            const auto same = [fold](const Event& event) { return event.fold == fold; };
            if (std::none_of(events_.begin(), events_.end(), same)) return;
            item(12, meaning, [&] { mark(x + radius, y, fold, colour_of(0)); });
        };
        if (named_ && !events_.empty()) {
            item(62, "a message, with the chunks that it carries", [&] {
                arrow(x + 20, y, x + 62 + radius, y, "stroke='" + colour_of(0) + "'");
                chip(x, y, {0, 0, 1});
            });
        }
        explain(Fold::add, "added to what the rank has");
        explain(Fold::keep, "kept aside");
        explain(Fold::add_kept, "all that was kept is added, in the order of ranks");
        explain(Fold::copy, "replaces what the rank has");
        item(60, "holds the finished sum of these chunks", [&] { owner(x, y, 60, "owns"); });
        for (int chunk = 0; !named_ && chunk < (std::min)(chunks_, 16); ++chunk) {
            const std::string meaning = (chunk == 0 ? "a message with chunk " : "") + chunk_names(chunk, 1);
            item(10, meaning, [&] { box(x, y - 5, 10, 10, "fill='" + colour_of(chunk) + "'"); });
        }
        return y + 12;
    }

    std::string name_;
    int chunks_;
    std::vector<std::string> owned_;  // [rank] what it owns, in words
    std::vector<Event> events_;
    std::array<int, 2> rounds_{}, begin_{};  // of the halves; and what else has a place or a size
    int owners_ = 0, owner_width_ = 60, lane_ = 0, round_ = 0, width_ = 0, bottom_ = 0;
    bool named_ = true;  // is there room for chunks' names?
    std::string out_;
};

}  // namespace detail

/// The schedule of `Shape` as a space-time diagram: an SVG file as text, the same text every time. The halves stand side by
/// side, as if all ranks began the second one together. Where messages are too many for chunks' names, colours tell chunks.
/// @throws ConfigurationError if `verify` finds a fault; 1 to 64 ranks can be drawn
template <Topology Shape>
std::string space_time_svg(int world_size) {
    if (const Verdict verdict = verify<Shape>(world_size); !verdict) {
        throw ConfigurationError(std::string(Shape::name) + ": " + verdict.text());
    }
    const int chunks = Shape::chunks(world_size);
    std::vector<std::string> owned(static_cast<std::size_t>(world_size));
    for (int rank = 0; rank < world_size; ++rank) {
        int first = chunks, last = -1, count = 0;
        for (int chunk = chunks; chunk-- > 0;) {
            if (!Shape::owns(rank, world_size, chunk)) continue;
            first = chunk;
            if (count++ == 0) last = chunk;
        }
        if (count == 0) continue;
        owned[static_cast<std::size_t>(rank)] =
            "owns " + (last - first < count ? detail::chunk_names(first, count) : std::to_string(count) + " chunks");
    }
    return detail::SpaceTime(Shape::name, chunks, schedule_of<Shape>(Half::reduce, world_size),
                             schedule_of<Shape>(Half::distribute, world_size), owned)
        .svg();
}

}  // namespace lockstep
