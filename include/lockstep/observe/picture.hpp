// SPDX-License-Identifier: MIT
/// @file
/// A stretch of a merged timeline as a picture (SVG): two rows a rank, what it computes and what it tells the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <lockstep/observe/merge.hpp>

namespace lockstep {

namespace detail {

class TimelinePicture {
public:
    TimelinePicture(const MergedTimeline& merged, std::int64_t begin, std::int64_t end)
        : merged_(merged), begin_(begin), end_((std::max)(end, begin + 1)) {}

    std::string svg() {
        const int height = top + static_cast<int>(merged_.ranks.size()) * rank_height + 46;
        put("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
            "font-family='sans-serif' "
            "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
            width, height, width, height);
        out_ +=
            "<defs><pattern id='waiting' width='6' height='6' patternUnits='userSpaceOnUse' "
            "patternTransform='rotate(45)'><rect width='6' height='6' fill='#fbe3e0'/><rect width='2' height='6' "
            "fill='#d4675a'/></pattern></defs>\n";
        legend();
        for (std::size_t rank = 0; rank < merged_.ranks.size(); ++rank) draw_rank(rank);
        axis(height - 30);
        return out_ + "</svg>\n";
    }

private:
    static constexpr int width = 1200;
    static constexpr int left = 130;
    static constexpr int right = 20;
    static constexpr int top = 44;
    static constexpr int rank_height = 58;
    static constexpr int row_height = 22;

    template <class... Arguments>
    void put(const char* format, Arguments... arguments) {
        char text[640];
        std::snprintf(text, sizeof text, format, arguments...);
        out_ += text;
    }

    double x_of(std::int64_t time) const {
        const auto part = static_cast<double>(std::clamp(time, begin_, end_) - begin_);
        return left + part * (width - left - right) / static_cast<double>(end_ - begin_);
    }

    static const char* color_of(const Event& event) {
        if (event.kind == EventKind::wait) return "url(#waiting)";
        if (event.kind == EventKind::call) return "#e69f00";
        const std::string_view name = event.title();
        if (name == "forward") return "#9ecae1";
        if (name == "backward") return "#3f7fbf";
        if (name == "step") return "#5fb58c";
        return "#c9c9c9";
    }

    void legend() {
        struct Entry {
            const char* color;
            const char* text;
        };
        int x = left;
        for (const Entry& each : {Entry{"#9ecae1", "forward"}, Entry{"#3f7fbf", "backward"}, Entry{"#5fb58c", "step"},
                                  Entry{"#c9c9c9", "other phases"}, Entry{"#e69f00", "collective"},
                                  Entry{"url(#waiting)", "waits for another rank"}}) {
            put("<rect x='%d' y='12' width='14' height='14' fill='%s' stroke='#666' stroke-width='0.5'/>"
                "<text x='%d' y='24'>%s</text>\n",
                x, each.color, x + 20, each.text);
            x += 46 + 7 * static_cast<int>(std::string_view(each.text).size());
        }
    }

    void draw_rank(std::size_t rank) {
        const int y = top + static_cast<int>(rank) * rank_height;
        put("<text x='10' y='%d' font-weight='bold'>rank %d</text><text x='68' y='%d' fill='#555'>compute</text>"
            "<text x='68' y='%d' fill='#555'>tell</text>\n",
            y + 16, static_cast<int>(rank), y + 16, y + 16 + row_height);
        for (int row = 0; row < 2; ++row) {
            put("<rect x='%d' y='%d' width='%d' height='%d' fill='#f6f6f6'/>\n", left, y + row * row_height,
                width - left - right, row_height - 2);
        }
        for (const EventKind kind : {EventKind::phase, EventKind::call, EventKind::wait}) {
            for (const Event& event : merged_.ranks[rank]) {
                if (event.kind != kind || event.end <= begin_ || event.begin >= end_) continue;
                // Reductions are phases, too: they are drawn as the collectives that they are made of.
                if (kind == EventKind::phase && (event.lane != 0 || event.title().starts_with("reduce"))) continue;
                const double from = x_of(event.begin);
                const double wide = (std::max)(x_of(event.end) - from, 0.5);
                put("<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s'><title>%.*s: %.1f us", from,
                    y + (kind == EventKind::phase ? 0 : row_height), wide, row_height - 2, color_of(event),
                    static_cast<int>(event.title().size()), event.title().data(),
                    static_cast<double>(event.duration()) / 1000);
                if (event.bytes > 0) put(", %.0f bytes", static_cast<double>(event.bytes));
                if (event.from >= 0) put(", rank %d", event.from);
                out_ += "</title></rect>\n";
            }
        }
    }

    void axis(int y) {
        const double whole = static_cast<double>(end_ - begin_) / 1000;
        double step = 1;
        for (int turn = 0; whole / step > 10; ++turn) step *= turn % 3 == 1 ? 2.5 : 2;
        put("<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='#444'/>\n", left, y, width - right, y);
        for (double at = 0; at <= whole; at += step) {
            const double x = left + at * (width - left - right) / whole;
            put("<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#444'/><text x='%.1f' y='%d' "
                "text-anchor='middle'>%g</text>\n",
                x, y, x, y + 5, x, y + 18, at);
        }
        put("<text x='10' y='%d' fill='#555'>microseconds</text>\n", y + 18);
    }

    const MergedTimeline& merged_;
    std::int64_t begin_;
    std::int64_t end_;
    std::string out_;
};

}  // namespace detail

/// What all ranks did from `begin` to `end`, in nanoseconds of the merged clock.
inline std::string timeline_svg(const MergedTimeline& merged, std::int64_t begin, std::int64_t end) {
    return detail::TimelinePicture(merged, begin, end).svg();
}

}  // namespace lockstep
