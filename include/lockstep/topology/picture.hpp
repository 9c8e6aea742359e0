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

/// Who sends what to whom in which round of one half. A step begins when the ones before it are done; a message goes
/// when both its ranks are there, and takes a round. Adding what was kept takes a round, too.
struct Timeline {
    struct Event {
        int round;
        int from;  ///< -1: `to` adds what it has kept
        int to;
        Transfer what;
        Fold fold;
    };

    explicit Timeline(const Schedule& schedule) {
        struct Progress {
            std::size_t step = 0;
            int begin = 0;  // of the step
            int end = 0;
            bool sent = false;
            bool received = false;
        };
        std::vector<Progress> ranks(schedule.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
                Progress& mine = ranks[rank];
                if (mine.step == schedule[rank].size()) continue;
                const Step& step = schedule[rank][mine.step];
                if (step.fold == Fold::add_kept) {
                    events.push_back({mine.begin, -1, static_cast<int>(rank), step.receive, step.fold});
                    mine.end = (std::max)(mine.end, mine.begin + 1);
                } else if (step.receive.any() && !mine.received) {
                    const auto sender = static_cast<std::size_t>(step.receive.peer);
                    Progress& theirs = ranks[sender];
                    if (theirs.step < schedule[sender].size() && !theirs.sent &&
                        schedule[sender][theirs.step].send.peer == static_cast<int>(rank)) {
                        const int round = (std::max)(mine.begin, theirs.begin);
                        events.push_back({round, step.receive.peer, static_cast<int>(rank), step.receive, step.fold});
                        mine.end = (std::max)(mine.end, round + 1);
                        theirs.end = (std::max)(theirs.end, round + 1);
                        mine.received = theirs.sent = moved = true;
                    }
                }
                if ((step.send.any() && !mine.sent) || (step.receive.any() && !mine.received)) continue;
                rounds = (std::max)(rounds, mine.end);
                mine = {.step = mine.step + 1, .begin = mine.end, .end = mine.end};
                moved = true;
            }
        }
        std::sort(events.begin(), events.end(), [](const Event& left, const Event& right) {
            return std::pair(left.round, left.to) < std::pair(right.round, right.to);
        });
    }

    std::vector<Event> events;
    int rounds = 0;
};

/// `c3` or `c3-5`
inline std::string chunk_names(int first, int count) {
    return "c" + std::to_string(first) + (count > 1 ? "-" + std::to_string(first + count - 1) : "");
}

/// `owns c2`, `owns c0-3, c8`, `owns 8 chunks`, or nothing
inline std::string owned_chunks(const std::vector<bool>& owns) {
    std::string names;
    int count = 0;
    for (std::size_t chunk = 0; chunk < owns.size(); ++chunk) {
        int run = 0;
        while (chunk + static_cast<std::size_t>(run) < owns.size() && owns[chunk + static_cast<std::size_t>(run)])
            ++run;
        if (run == 0) continue;
        names += (count == 0 ? "" : ", ") + chunk_names(static_cast<int>(chunk), run);
        count += run;
        chunk += static_cast<std::size_t>(run);
    }
    if (count == 0) return {};
    return "owns " + (names.size() <= 14 ? names : std::to_string(count) + " chunks");
}

/// Draws two timelines, and who owns what between them.
class SpaceTime {
public:
    SpaceTime(const char* name, int world_size, int chunks, Timeline reduce, Timeline distribute,
              std::vector<std::string> owned)
        : name_(name), world_size_(world_size), chunks_(chunks), halves_{reduce, distribute}, owned_(owned) {
        int longest = 0;
        for (const Timeline& half : halves_) {
            for (const auto& event : half.events) longest = (std::max)(longest, chip_width(event.what));
        }
        owner_width_ = 60;
        for (const std::string& text : owned_) owner_width_ = (std::max)(owner_width_, width_of(text) + 10);
        lane_ = std::clamp(420 / world_size, 34, 64);
        const int room = 1120 - 2 * margin - rank_width - owner_width_ - 2 * gap;
        round_ = std::clamp(room / (std::max)(1, halves_[0].rounds + halves_[1].rounds), 24, 110);
        named_ = round_ >= longest + 34;
        const auto end = [&](std::size_t half) {
            return begin_[half] + (std::max)(halves_[half].rounds * round_, 290);
        };
        begin_[0] = margin + rank_width;
        owners_ = end(0) + gap;
        begin_[1] = owners_ + owner_width_ + gap;
        width_ = end(1) + margin;
        bottom_ = top + world_size * lane_;
    }

    std::string svg() {
        lanes();
        headings();
        for (std::size_t half = 0; half < 2; ++half) {
            for (const auto& event : halves_[half].events) arrow(event, begin_[half]);
        }
        for (std::size_t half = 0; half < 2; ++half) {
            for (const auto& event : halves_[half].events) ends(event, begin_[half]);
        }
        const int height = legend() + margin;
        const std::string drawing = std::exchange(out_, {});
        put("<svg xmlns='http://www.w3.org/2000/svg' width='", width_, "' height='", height, "' viewBox='0 0 ", width_,
            " ", height, "' font-family='Helvetica, Arial, sans-serif' font-size='12'>\n<title>", title(),
            "</title>\n");
        box(0, 0, width_, height, "fill='white'");
        return out_ + drawing + "</svg>\n";
    }

private:
    static constexpr int margin = 20;
    static constexpr int rank_width = 56;
    static constexpr int gap = 14;
    static constexpr int top = 124;
    static constexpr int radius = 6;

    static int width_of(const std::string& text) { return static_cast<int>(text.size()) * 7; }
    static int chip_width(const Transfer& what) {
        return width_of(chunk_names(what.first_chunk, what.chunk_count)) + 6;
    }
    static std::string count_of(std::size_t count, const char* noun) {
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
        for (const char letter : name_ + ", " + count_of(owned_.size(), "rank")) {
            safe += letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : std::string(1, letter);
        }
        return safe;
    }
    int lane_of(int rank) const { return top + rank * lane_ + lane_ / 2; }

    // ---- Strokes ----

    static std::string text_of(int number) { return std::to_string(number); }
    static std::string text_of(double number) { return std::to_string(std::lround(number)); }
    static std::string text_of(const std::string& text) { return text; }
    template <class... Parts>
    void put(const Parts&... parts) {
        ((out_ += text_of(parts)), ...);
    }
    void text(int x, int y, const std::string& content, const std::string& style = "fill='#555555'") {
        put("<text x='", x, "' y='", y, "' ", style, ">", content, "</text>\n");
    }
    void box(int x, int y, int width, int height, const std::string& style) {
        put("<rect x='", x, "' y='", y, "' width='", width, "' height='", height, "' ", style, "/>\n");
    }
    void line(int x1, int y1, int x2, int y2, const char* colour) {
        put("<path d='M", x1, " ", y1, "L", x2, " ", y2, "' stroke='", colour, "'/>\n");
    }
    void chip(int x, int y, const Transfer& what) {
        const int width = chip_width(what);
        box(x, y - 9, width, 18, "rx='3' fill='" + colour_of(what.first_chunk) + "'");
        text(x + width / 2, y + 4, chunk_names(what.first_chunk, what.chunk_count),
             "class='chunks' fill='white' text-anchor='middle' font-weight='bold'");
    }
    void owner(int x, int y, int width, const std::string& owned) {
        box(x, y - 11, width, 22, "rx='3' fill='#fff3c4' stroke='#b08900'");
        text(x + width / 2, y + 4, owned, "class='owner' text-anchor='middle'");
    }
    /// What becomes of a message: a plus sign, an equals sign, a dot for kept, a capital sigma for the sum of what was kept.
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
    void arrow(double x1, double y1, double x2, double y2, const std::string& style) {
        const double length = std::hypot(x2 - x1, y2 - y1);
        const double x = (x2 - x1) / length;
        const double y = (y2 - y1) / length;
        const auto behind = [&](double back, double aside) {
            return text_of(x2 - x * back - y * aside) + " " + text_of(y2 - y * back + x * aside);
        };
        put("<path ", style, " fill='none' d='M", x1, " ", y1, "L", behind(0, 0), "M", behind(7, 4), "L", behind(0, 0),
            "L", behind(7, -4), "'/>\n");
    }

    // ---- Parts of the picture ----

    void headings() {
        std::size_t messages = 0;
        for (std::size_t half = 0; half < 2; ++half) {
            const char* const name =
                half == 0 ? "reduce: sums travel to their owners" : "distribute: results travel to everyone";
            text(begin_[half], 94, name, "font-size='14' font-weight='bold'");
            if (halves_[half].rounds == 0) text(begin_[half], 112, "nothing to send");
            for (int round = 0; round < halves_[half].rounds; ++round) {
                const std::string label = (round == 0 && round_ >= 60 ? "round " : "") + std::to_string(round + 1);
                text(begin_[half] + round * round_ + round_ / 2, 112, label, "fill='#555555' text-anchor='middle'");
            }
            for (const auto& event : halves_[half].events) messages += event.from >= 0 ? 1U : 0U;
        }
        text(owners_ + owner_width_ / 2, 112, "owners", "fill='#555555' text-anchor='middle'");
        text(margin, 30, title(), "font-size='19' font-weight='bold'");
        text(margin, 50, "Every rank brings a buffer of its own; at the end, every rank holds the sum of all buffers.");
        const auto pieces = static_cast<std::size_t>(chunks_);
        text(margin, 66,
             "The buffer is cut into " + count_of(pieces, "chunk") + ", " + chunk_names(0, chunks_) + ". It takes " +
                 count_of(messages, "message") + ".");
    }

    void lanes() {
        for (std::size_t half = 0; half < 2; ++half) {
            for (int round = 0; round <= halves_[half].rounds; ++round) {
                line(begin_[half] + round * round_, top, begin_[half] + round * round_, bottom_, "#eeeeee");
            }
        }
        for (int rank = 0; rank < world_size_; ++rank) {
            const std::string& owned = owned_[static_cast<std::size_t>(rank)];
            text(margin, lane_of(rank) + 4, "rank " + std::to_string(rank), "class='rank'");
            line(begin_[0], lane_of(rank), width_ - margin, lane_of(rank), "#bbbbbb");
            if (!owned.empty()) owner(owners_, lane_of(rank), owner_width_, owned);
        }
    }

    void arrow(const Timeline::Event& event, int begin) {
        if (event.from < 0) return;
        const double x1 = begin + event.round * round_ + 4 + (named_ ? chip_width(event.what) : 0);
        const double x2 = begin + (event.round + 1) * round_ - radius - 2;
        const double y1 = lane_of(event.from);
        const double y2 = lane_of(event.to);
        const double mark = radius / std::hypot(x2 - x1, y2 - y1);
        arrow(x1, y1, x2 - (x2 - x1) * mark, y2 - (y2 - y1) * mark,
              "class='message' stroke-width='1.4' stroke='" + colour_of(event.what.first_chunk) + "'");
    }

    void ends(const Timeline::Event& event, int begin) {
        const int x = begin + event.round * round_;
        mark(x + round_ - radius - 2, lane_of(event.to), event.fold, colour_of(event.what.first_chunk));
        if (event.from < 0) return;
        if (named_) return chip(x + 4, lane_of(event.from), event.what);
        box(x + 2, lane_of(event.from) - 3, 6, 6, "fill='" + colour_of(event.what.first_chunk) + "'");
    }

    /// Returns where it ends.
    int legend() {
        int x = margin;
        int y = bottom_ + 30;
        const auto item = [&](int wide, const std::string& meaning) {
            const int needed = wide + 8 + static_cast<int>(meaning.size()) * 6;
            if (x > margin && x + needed > width_ - margin) {
                x = margin;
                y += 26;
            }
            text(x + wide + 8, y + 4, meaning);
            return std::exchange(x, x + needed + 24);
        };
        const auto uses = [&](Fold fold) {
            return std::any_of(halves_[0].events.begin(), halves_[0].events.end(),
                               [&](const auto& event) { return event.fold == fold; });
        };
        const std::string blue = colour_of(0);
        const auto explain = [&](Fold fold, const char* meaning) { mark(item(12, meaning) + radius, y, fold, blue); };
        if (named_) {
            const int at = item(62, "a message, and the chunks that it carries");
            chip(at, y, {0, 0, 1});
            arrow(at + 20, y, at + 62, y, "stroke='" + blue + "'");
        }
        if (uses(Fold::add)) explain(Fold::add, "added to what the rank has");
        if (uses(Fold::keep)) explain(Fold::keep, "kept aside");
        if (uses(Fold::add_kept)) explain(Fold::add_kept, "all that was kept is added, in the order of ranks");
        explain(Fold::copy, "replaces what the rank has");
        owner(item(60, "holds the finished sum of these chunks"), y, 60, "owns");
        for (int chunk = 0; !named_ && chunk < (std::min)(chunks_, 16); ++chunk) {
            const std::string which = chunk_names(chunk, 1);
            box(item(10, chunk == 0 ? "a message that carries c0" : which), y - 5, 10, 10,
                "fill='" + colour_of(chunk) + "'");
        }
        return y + 12;
    }

    std::string name_;
    int world_size_;
    int chunks_;
    std::array<Timeline, 2> halves_;
    std::vector<std::string> owned_;  // [rank] "owns c2", or nothing
    std::array<int, 2> begin_{};
    int owners_ = 0;
    int owner_width_ = 0;
    int lane_ = 0;
    int round_ = 0;
    int width_ = 0;
    int bottom_ = 0;
    bool named_ = true;  // is there room for chunk names?
    std::string out_;
};

}  // namespace detail

/// The schedule of `Shape` as a space-time diagram: an SVG file as text, the same text every time.
///
/// The halves stand side by side, as if all ranks began the second one together. About 1100 pixels wide; where there are
/// too many messages for their chunks' names, colours tell chunks.
/// @throws ConfigurationError if `verify` finds a fault; 1 to 64 ranks can be drawn
template <Topology Shape>
std::string space_time_svg(int world_size) {
    if (const Verdict verdict = verify<Shape>(world_size); !verdict) {
        throw ConfigurationError(std::string(Shape::name) + ": " + verdict.text());
    }
    const int chunks = Shape::chunks(world_size);
    std::vector<std::string> owned;
    for (int rank = 0; rank < world_size; ++rank) {
        std::vector<bool> owns;
        for (int chunk = 0; chunk < chunks; ++chunk) owns.push_back(Shape::owns(rank, world_size, chunk));
        owned.push_back(detail::owned_chunks(owns));
    }
    return detail::SpaceTime(Shape::name, world_size, chunks,
                             detail::Timeline(schedule_of<Shape>(Half::reduce, world_size)),
                             detail::Timeline(schedule_of<Shape>(Half::distribute, world_size)), owned)
        .svg();
}

}  // namespace lockstep
