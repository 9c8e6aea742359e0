// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/control.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

/// Rank 0 of three, and the far ends of its connections to ranks 1 and 2.
struct Star {
    Star() : far(3) {
        std::vector<Descriptor> near(3);
        for (const std::size_t rank : {1U, 2U}) {
            int ends[2] = {-1, -1};
            BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
            near[rank] = Descriptor(ends[0]);
            far[rank] = Descriptor(ends[1]);
        }
        control.emplace(0, std::move(near));
    }
    void say(std::size_t rank, const std::vector<std::byte>& frame) const {
        BOOST_REQUIRE(write_all<SystemCalls>(far[rank].get(), frame, Deadline::after(Seconds{30})));
    }
    std::optional<Message> heard_by(std::size_t rank) const {
        return read_message<SystemCalls>(far[rank].get(), Deadline::after(Seconds{30}));
    }
    std::size_t watched() const {
        std::vector<pollfd> waits;
        control->watch(waits);
        return waits.size();
    }

    std::vector<Descriptor> far;
    std::optional<Control<SystemCalls>> control;
};

const Failure bad_row{ErrorKind::remote, 2, "rank 2: bad row 7"};

BOOST_AUTO_TEST_CASE(no_news_is_good_news) {
    Star star;
    BOOST_TEST(!star.control->news().has_value());
    BOOST_TEST(star.watched() == 2U);
}

BOOST_AUTO_TEST_CASE(a_failure_is_announced_to_all_and_heard_as_it_was) {
    Star star;
    star.control->announce(bad_row);
    for (const std::size_t rank : {1U, 2U}) {
        const auto message = star.heard_by(rank);
        BOOST_REQUIRE(message.has_value());
        const Failure heard = failure_in(message, 0);
        BOOST_TEST((heard.kind == ErrorKind::remote));
        BOOST_TEST(heard.rank == 2);
        BOOST_TEST(heard.message == "rank 2: bad row 7");
    }
    star.say(2, encode(bad_row));
    const auto news = star.control->news();
    BOOST_REQUIRE(news.has_value());
    BOOST_TEST(news->message == "rank 2: bad row 7");
}

BOOST_AUTO_TEST_CASE(who_says_goodbye_may_hang_up) {
    Star star;
    star.say(1, control_frame(FrameKind::goodbye, {}));
    star.far[1].reset();
    BOOST_TEST(!star.control->news().has_value());
    BOOST_TEST(star.watched() == 1U);
    BOOST_TEST(!star.control->news().has_value());
}

BOOST_AUTO_TEST_CASE(who_hangs_up_without_goodbye_is_lost) {
    Star star;
    star.far[2].reset();
    const auto news = star.control->news();
    BOOST_REQUIRE(news.has_value());
    BOOST_TEST((news->kind == ErrorKind::peer_lost));
    BOOST_TEST(news->rank == 2);
}

BOOST_AUTO_TEST_CASE(a_reason_is_waited_for_but_not_for_ever) {
    Star star;
    BOOST_TEST(!star.control->reason(Deadline::after(Seconds{0.02})).has_value());
    std::thread late([&] {
        star.say(1, control_frame(FrameKind::goodbye, {}));
        star.say(2, encode(bad_row));
    });
    const auto reason = star.control->reason(Deadline::after(Seconds{30}));
    late.join();
    BOOST_REQUIRE(reason.has_value());
    BOOST_TEST(reason->message == "rank 2: bad row 7");
}

BOOST_AUTO_TEST_CASE(nobody_left_has_no_reason_to_give) {
    Star star;
    for (const std::size_t rank : {1U, 2U}) star.say(rank, control_frame(FrameKind::goodbye, {}));
    const Deadline deadline = Deadline::after(Seconds{30});
    BOOST_TEST(!star.control->reason(deadline).has_value());
    BOOST_TEST(!deadline.passed());
}

BOOST_AUTO_TEST_CASE(announcing_waits_for_nobody) {
    Star star;
    star.far[1].reset();
    // Rank 2 does not read: its connection fills up, and the rest of the news is left unsaid.
    for (int time = 0; time < 1000; ++time) star.control->announce({ErrorKind::remote, 0, std::string(4096, 'x')});
    const auto message = star.heard_by(2);
    BOOST_REQUIRE(message.has_value());
    BOOST_TEST((message->kind() == FrameKind::failure));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_rank_is_a_goodbye) {
    Star star;
    star.control.reset();
    for (const std::size_t rank : {1U, 2U}) {
        const auto message = star.heard_by(rank);
        BOOST_REQUIRE(message.has_value());
        BOOST_TEST((message->kind() == FrameKind::goodbye));
        BOOST_TEST(!star.heard_by(rank).has_value());
    }
}

}  // namespace
