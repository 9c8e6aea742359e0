// SPDX-License-Identifier: MIT
// Timelines of several ranks become one: over real links, and from events with known answers.
#include <lockstep/observe/merge.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/observe/chrome_trace.hpp>
#include <lockstep/observe/picture.hpp>
#include <lockstep/observe/summary.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/conformance/transport.hpp"
#include "support/temporary_file.hpp"

namespace {

using namespace lockstep;

/// Every rank makes rings and a phase; rank 0 gets everything.
template <class Runner>
MergedTimeline merged_of(int world) {
    MergedTimeline result;
    std::vector<std::vector<Event>> own(static_cast<std::size_t>(world));
    test::check_all_well(Runner::run(world, [&](auto& link) {
        Timeline timeline;
        Observed observed(link, timeline);
        std::vector<float> values(100, 1.0F);
        for (int turn = 0; turn < 3; ++turn) {
            const std::int64_t start = observed.now();
            values[0] = static_cast<float>(turn);
            observed.record("think", start);
            all_reduce<Ring>(observed, std::span(values));
        }
        own[static_cast<std::size_t>(link.rank())] = timeline.events();
        auto merged = merge(observed);
        test::expect(timeline.events().size() == own[static_cast<std::size_t>(link.rank())].size(),
                     "merging is not noted");
        test::expect((link.rank() == 0) == !merged.ranks.empty(), "rank 0 has it");
        if (link.rank() == 0) result = std::move(merged);
    }));
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
        const auto kept = std::count_if(result.ranks[rank].begin(), result.ranks[rank].end(),
                                        [](const Event& event) { return event.kind != EventKind::wait; });
        BOOST_TEST(static_cast<std::size_t>(kept) == own[rank].size());
        std::int64_t ours = 0;
        std::int64_t theirs = 0;
        for (const Event& event : own[rank]) ours += event.duration();
        for (const Event& event : result.ranks[rank]) {
            if (event.kind != EventKind::wait) theirs += event.duration();
        }
        BOOST_TEST(ours == theirs);
    }
    return result;
}

template <class Runner>
void check_merges() {
    for (const int world : test::worlds) {
        const MergedTimeline merged = merged_of<Runner>(world);
        std::int64_t first = 1;
        for (const auto& rank : merged.ranks) {
            BOOST_TEST(std::is_sorted(rank.begin(), rank.end(),
                                      [](const Event& one, const Event& other) { return one.begin < other.begin; }));
            for (const Event& event : rank) {
                first = (std::min)(first, event.begin);
                if (event.kind != EventKind::wait) continue;
                // A wait is part of an exchange with the one waited for.
                BOOST_TEST(std::any_of(rank.begin(), rank.end(), [&](const Event& other) {
                    return other.kind == EventKind::exchange && other.begin == event.begin && other.end >= event.end &&
                           (other.from == event.from || other.to == event.from);
                }));
            }
        }
        BOOST_TEST(first == 0);
        const auto uses = time_use(merged);
        for (const TimeUse& use : uses) {
            BOOST_TEST(use.compute + use.reduce + use.wait + use.idle == use.whole);
            for (const std::int64_t part : {use.compute, use.reduce, use.wait, use.idle, use.hidden}) {
                BOOST_TEST(part >= 0);
            }
            BOOST_TEST(use.messages == 3U * 2U * static_cast<unsigned>(world - 1));
        }
    }
}
BOOST_AUTO_TEST_CASE(merges_over_threads) { check_merges<test::OverThreads>(); }
BOOST_AUTO_TEST_CASE(merges_over_tcp) { check_merges<test::OverTcp>(); }

// ---- Known answers ----------------------------------------------------------------------------------------------

Event event(EventKind kind, std::int64_t begin, std::int64_t end, int to = -1, int from = -1, std::uint64_t bytes = 0,
            std::uint8_t lane = 0) {
    Event result;
    result.kind = kind;
    result.begin = begin;
    result.end = end;
    result.to = to;
    result.from = from;
    result.bytes = bytes;
    result.received = from >= 0 ? 8 : 0;
    result.lane = lane;
    result.name = {'e', 'v'};
    return result;
}

/// Rank 1 comes 40 ns late to the first exchange and is waited for; in the second it waits for rank 0 itself.
MergedTimeline two_ranks() {
    MergedTimeline merged;
    merged.ranks = {
        {event(EventKind::phase, 0, 10), event(EventKind::call, 10, 60), event(EventKind::exchange, 10, 60, 1, 1, 100),
         event(EventKind::phase, 60, 90), event(EventKind::call, 90, 100),
         event(EventKind::exchange, 90, 100, 1, -1, 50)},
        {event(EventKind::phase, 0, 50), event(EventKind::call, 50, 60), event(EventKind::exchange, 50, 60, 0, 0, 100),
         event(EventKind::call, 65, 100), event(EventKind::exchange, 65, 100, -1, 0)}};
    detail::find_waits(merged.ranks);
    return merged;
}

BOOST_AUTO_TEST_CASE(who_comes_first_waits) {
    const MergedTimeline merged = two_ranks();
    std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t, int>> waits;
    for (std::size_t rank = 0; rank < 2; ++rank) {
        for (const Event& each : merged.ranks[rank]) {
            if (each.kind == EventKind::wait) waits.emplace_back(rank, each.begin, each.end, each.from);
        }
    }
    const decltype(waits) expected{{0U, 10, 50, 1}, {1U, 65, 90, 0}};
    BOOST_TEST((waits == expected));
}

BOOST_AUTO_TEST_CASE(time_goes_where_it_went) {
    const auto uses = time_use(two_ranks());
    BOOST_TEST(uses[0].whole == 100);
    BOOST_TEST(uses[0].compute == 40);
    BOOST_TEST(uses[0].wait == 40);
    BOOST_TEST(uses[0].reduce == 20);
    BOOST_TEST(uses[0].idle == 0);
    BOOST_TEST(uses[0].bytes == 150U);
    BOOST_TEST(uses[0].messages == 2U);
    BOOST_TEST(uses[0].waited_for[1] == 40);
    BOOST_TEST(uses[1].compute == 50);
    BOOST_TEST(uses[1].wait == 25);
    BOOST_TEST(uses[1].reduce == 20);
    BOOST_TEST(uses[1].idle == 5);
    BOOST_TEST(uses[1].messages == 1U);
    const std::string table = summary(two_ranks());
    BOOST_TEST(table.find("40.0 %   20.0 %   40.0 %    0.0 %") != std::string::npos, table);
    BOOST_TEST(table.find("rank 1, 0.000 s") != std::string::npos, table);
}

BOOST_AUTO_TEST_CASE(what_goes_on_beside_compute_is_hidden) {
    MergedTimeline merged;
    // A call of 40 ns by the second thread, of which 30 beside compute; for the last 10 the first waits.
    merged.ranks = {{event(EventKind::phase, 0, 50), event(EventKind::call, 20, 60, -1, -1, 0, 1),
                     event(EventKind::phase, 60, 80)}};
    const TimeUse use = time_use(merged)[0];
    BOOST_TEST(use.compute == 70);
    BOOST_TEST(use.hidden == 30);
    BOOST_TEST(use.reduce == 10);
    BOOST_TEST(use.idle == 0);
}

BOOST_AUTO_TEST_CASE(dropped_events_are_told) {
    MergedTimeline merged = two_ranks();
    merged.dropped = 17;
    BOOST_TEST(summary(merged).find("17 events") != std::string::npos);
    BOOST_TEST(chrome_trace(merged).find("\"dropped_events\": \"17\"") != std::string::npos);
}

// ---- Files ------------------------------------------------------------------------------------------------------

/// Held to the Chrome trace event format: what viewers need of each kind of event, and that events of a row nest.
void check_trace(const std::string& path, std::size_t ranks) {
    boost::property_tree::ptree trace;
    boost::property_tree::read_json(path, trace);
    std::map<std::string, std::string> processes;
    std::map<std::string, int> arrows;
    struct Stretch {
        double begin;
        double end;
    };
    std::map<std::string, std::vector<Stretch>> open;
    std::map<std::string, double> last;
    std::size_t complete = 0;
    for (const auto& [unused, each] : trace.get_child("traceEvents")) {
        const auto kind = each.get<std::string>("ph");
        const auto row = each.get<std::string>("pid") + "/" + each.get<std::string>("tid");
        BOOST_TEST(!each.get<std::string>("name").empty());
        if (kind == "M") {
            if (each.get<std::string>("name") == "process_name") {
                processes[each.get<std::string>("pid")] = each.get<std::string>("args.name");
            }
            continue;
        }
        const auto begin = each.get<double>("ts");
        BOOST_TEST(begin >= 0);
        if (kind == "s" || kind == "f") {
            arrows[each.get<std::string>("id")] += kind == "s" ? 1 : -1;
            continue;
        }
        BOOST_TEST(kind == "X");
        ++complete;
        const auto duration = each.get<double>("dur");
        BOOST_TEST(duration >= 0);
        BOOST_TEST(begin >= last[row]);
        last[row] = begin;
        auto& around = open[row];
        constexpr double rounding = 0.0021;
        while (!around.empty() && around.back().end <= begin + rounding) around.pop_back();
        if (!around.empty()) BOOST_TEST(begin + duration <= around.back().end + rounding);
        around.push_back({begin, begin + duration});
    }
    BOOST_TEST(processes.size() == ranks);
    for (const auto& [id, name] : processes) BOOST_TEST(name == "rank " + id);
    for (const auto& [id, balance] : arrows) BOOST_TEST(balance == 0, id << " has one end only");
    BOOST_TEST(complete > 0U);
    BOOST_TEST((ranks == 1 || !arrows.empty()));
}

BOOST_AUTO_TEST_CASE(the_trace_is_in_chromes_format) {
    for (const int world : {1, 3}) {
        const test::TemporaryFile file("");
        write_chrome_trace(file.path(), merged_of<test::OverThreads>(world));
        check_trace(file.path(), static_cast<std::size_t>(world));
        write_chrome_trace(file.path(), merged_of<test::OverTcp>(world));
        check_trace(file.path(), static_cast<std::size_t>(world));
    }
}

BOOST_AUTO_TEST_CASE(odd_names_do_not_break_the_trace) {
    MergedTimeline merged = two_ranks();
    merged.ranks[0][0].name = {'"', '\\', '\n', 'a', '\x7f'};
    const test::TemporaryFile file("");
    write_chrome_trace(file.path(), merged);
    check_trace(file.path(), 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_named) {
    BOOST_CHECK_EXCEPTION(write_chrome_trace("/nowhere/at/all.json", two_ranks()), FormatError, [](const Error& error) {
        return std::string(error.what()).find("/nowhere/at/all.json") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(the_picture_has_a_row_of_each_rank_and_its_waits) {
    const std::string svg = timeline_svg(two_ranks(), 0, 100);
    BOOST_TEST(svg.find("rank 0") != std::string::npos);
    BOOST_TEST(svg.find("rank 1") != std::string::npos);
    const auto count = [&](const std::string& text) {
        std::size_t times = 0;
        for (std::size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++times;
        return times;
    };
    BOOST_TEST(count("fill='#e69f00'><title>") == 4U);        // calls
    BOOST_TEST(count("fill='url(#waiting)'><title>") == 2U);  // waits
    BOOST_TEST(count("<title>") == 4U + 2U + 3U);             // and phases
    // Nothing of what lies outside.
    const std::string part = timeline_svg(two_ranks(), 61, 64);
    BOOST_TEST(part.find("wait:") == std::string::npos);
}

}  // namespace
