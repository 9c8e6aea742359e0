// SPDX-License-Identifier: MIT
/// @file
/// Where the time of each rank has gone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/observe/merge.hpp>

namespace lockstep {

/// Of one rank, in nanoseconds. On the thread that trains, `compute + reduce + wait + idle` is the whole; what happens
/// beside it is `hidden`.
struct TimeUse {
    std::int64_t whole = 0;    ///< from the first beginning to the last end of all ranks
    std::int64_t compute = 0;  ///< in phases, outside of collectives
    std::int64_t reduce = 0;   ///< in collectives, less waits
    std::int64_t wait = 0;     ///< in collectives, for ranks that had not come yet
    std::int64_t idle = 0;     ///< in neither phases nor collectives: loading, printing, and what nobody noted
    std::int64_t hidden = 0;   ///< in collectives of a second thread, beside compute
    std::uint64_t bytes = 0;   ///< sent
    std::uint64_t messages = 0;
    std::vector<std::int64_t> waited_for;  ///< by rank
};

namespace detail {

using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Without overlaps, ascending.
inline Intervals united(Intervals intervals) {
    std::sort(intervals.begin(), intervals.end());
    Intervals result;
    for (const auto& [begin, end] : intervals) {
        if (!result.empty() && begin <= result.back().second)
            result.back().second = (std::max)(result.back().second, end);
        else result.emplace_back(begin, end);
    }
    return result;
}
inline std::int64_t length(const Intervals& intervals) {
    std::int64_t sum = 0;
    for (const auto& [begin, end] : intervals) sum += end - begin;
    return sum;
}
/// Of both, each without overlaps.
inline Intervals common(const Intervals& one, const Intervals& other) {
    Intervals result;
    for (std::size_t left = 0, right = 0; left < one.size() && right < other.size();) {
        const std::int64_t begin = (std::max)(one[left].first, other[right].first);
        const std::int64_t end = (std::min)(one[left].second, other[right].second);
        if (begin < end) result.emplace_back(begin, end);
        one[left].second < other[right].second ? ++left : ++right;
    }
    return result;
}

}  // namespace detail

inline std::vector<TimeUse> time_use(const MergedTimeline& merged) {
    using detail::common;
    using detail::length;
    using detail::united;
    std::int64_t whole = 0;
    for (const auto& rank : merged.ranks) {
        for (const Event& event : rank) whole = (std::max)(whole, event.end);
    }
    std::vector<TimeUse> uses;
    for (const auto& rank : merged.ranks) {
        TimeUse use;
        use.whole = whole;
        use.waited_for.resize(merged.ranks.size());
        detail::Intervals phases;
        detail::Intervals calls[2];
        detail::Intervals waits[2];
        for (const Event& event : rank) {
            const std::pair<std::int64_t, std::int64_t> when{event.begin, event.end};
            switch (event.kind) {
                case EventKind::phase:
                    if (event.lane == 0) phases.push_back(when);
                    break;
                case EventKind::call: calls[event.lane].push_back(when); break;
                case EventKind::exchange:
                    use.bytes += event.bytes;
                    use.messages += event.to >= 0 ? 1 : 0;
                    break;
                case EventKind::wait:
                    waits[event.lane].push_back(when);
                    use.waited_for[static_cast<std::size_t>(event.from)] += event.duration();
                    break;
            }
        }
        const auto own = united(calls[0]);
        const auto both = [&] {
            auto all = phases;
            all.insert(all.end(), own.begin(), own.end());
            return united(std::move(all));
        }();
        use.wait = length(common(united(waits[0]), own));
        use.reduce = length(own) - use.wait;
        use.compute = length(both) - length(own);
        // Of a second thread's collectives that is hidden which goes on beside compute; for the rest the first waits.
        const auto beside = united(calls[1]);
        const auto shown = length(beside) - length(common(beside, both));
        const auto late = united(waits[1]);
        const auto shown_wait = length(late) - length(common(late, both));
        use.hidden = length(beside) - shown;
        use.reduce += shown - shown_wait;
        use.wait += shown_wait;
        use.idle = whole - length(both) - shown;
        uses.push_back(std::move(use));
    }
    return uses;
}

/// A table for people, one line a rank.
inline std::string summary(const MergedTimeline& merged) {
    const auto uses = time_use(merged);
    std::string text =
        "rank      time   compute   reduce     wait     idle   hidden   messages        MB sent     MB/s   waited most "
        "for\n";
    for (std::size_t rank = 0; rank < uses.size(); ++rank) {
        const TimeUse& use = uses[rank];
        const double whole = static_cast<double>((std::max)(use.whole, std::int64_t{1}));
        const auto percent = [&](std::int64_t part) { return 100 * static_cast<double>(part) / whole; };
        const double communicating = static_cast<double>(use.reduce + use.wait + use.hidden) * 1e-9;
        const double megabytes = static_cast<double>(use.bytes) * 1e-6;
        const auto most = std::max_element(use.waited_for.begin(), use.waited_for.end());
        char line[192];
        std::snprintf(line, sizeof line,
                      "%4zu %7.3f s  %6.1f %%  %5.1f %%  %5.1f %%  %5.1f %%  %5.1f %%  %9llu  %13.3f  %7.0f   ", rank,
                      whole * 1e-9, percent(use.compute), percent(use.reduce), percent(use.wait), percent(use.idle),
                      percent(use.hidden), static_cast<unsigned long long>(use.messages), megabytes,
                      communicating > 0 ? megabytes / communicating : 0.0);
        text += line;
        if (most != use.waited_for.end() && *most > 0) {
            std::snprintf(line, sizeof line, "rank %d, %.3f s", static_cast<int>(most - use.waited_for.begin()),
                          static_cast<double>(*most) * 1e-9);
            text += line;
        } else {
            text += "nobody";
        }
        text += '\n';
    }
    if (merged.dropped > 0) {
        text += std::to_string(merged.dropped) + " events came after the timelines were full, and are missing here\n";
    }
    return text;
}

}  // namespace lockstep
