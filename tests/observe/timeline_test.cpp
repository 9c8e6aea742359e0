// SPDX-License-Identifier: MIT
#include <lockstep/observe/timeline.hpp>

#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::EventKind;
using lockstep::Timeline;

BOOST_AUTO_TEST_CASE(what_comes_after_the_limit_is_counted) {
    Timeline timeline(3);
    for (int index = 0; index < 5; ++index) timeline.record(EventKind::phase, "work", Timeline::now(), 0);
    BOOST_TEST(timeline.events().size() == 3U);
    BOOST_TEST(timeline.dropped() == 2U);
    timeline.clear();
    BOOST_TEST(timeline.events().empty());
    BOOST_TEST(timeline.dropped() == 0U);
}

BOOST_AUTO_TEST_CASE(long_names_are_cut) {
    Timeline timeline;
    timeline.record(EventKind::phase, std::string(100, 'x'), Timeline::now(), 0);
    timeline.record(EventKind::phase, "", Timeline::now(), 0);
    BOOST_TEST(timeline.events()[0].title() == std::string(24, 'x'));
    BOOST_TEST(timeline.events()[1].title() == "");
}

BOOST_AUTO_TEST_CASE(a_call_that_was_dropped_is_not_prolonged) {
    Timeline timeline(1);
    timeline.record(EventKind::phase, "first", Timeline::now(), 0);
    const auto end = timeline.events()[0].end;
    timeline.record(EventKind::call, "call", Timeline::now(), 0);
    timeline.record(EventKind::exchange, "exchange", Timeline::now(), 0, 1, 1);
    BOOST_TEST(timeline.events()[0].end == end);
}

BOOST_AUTO_TEST_CASE(threads_record_at_once_on_lanes_of_their_own) {
    Timeline timeline;
    std::thread other([&] {
        for (int index = 0; index < 1000; ++index) timeline.record(EventKind::phase, "beside", Timeline::now(), 1);
    });
    for (int index = 0; index < 1000; ++index) timeline.record(EventKind::phase, "own", Timeline::now(), 2);
    other.join();
    int lanes[2]{};
    for (const auto& event : timeline.events()) {
        ++lanes[event.lane];
        BOOST_TEST((event.title() == "own") == (event.lane == 0));
    }
    BOOST_TEST(lanes[0] == 1000);
    BOOST_TEST(lanes[1] == 1000);
}

}  // namespace
