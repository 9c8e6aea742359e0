// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/lobby.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

Deadline late() { return Deadline::after(Seconds{30}); }

struct House {
    explicit House(Seconds patience = Seconds{30}) : lobby(listen_at("127.0.0.1:0", 0), patience, 0) {}

    Descriptor connect() const { return connect_to(to_text(local_address(lobby.descriptor())), 0, late()); }
    Descriptor introduce(int rank) const {
        Descriptor caller = connect();
        say(caller, encode(Hello{rank, 8, Role::control, 0, ""}));
        return caller;
    }
    static void say(const Descriptor& caller, std::span<const std::byte> bytes) {
        BOOST_REQUIRE(write_all<SystemCalls>(caller.get(), bytes, late()));
    }
    static void say(const Descriptor& caller, std::string_view text) { say(caller, std::as_bytes(std::span(text))); }

    /// The rank of the next guest; -1 if none has come by the deadline.
    int next(const Deadline& deadline) {
        std::optional<std::size_t> spoke;
        const auto guest = lobby.next(deadline, {}, spoke);
        return guest ? guest->hello().rank : -1;
    }

    Lobby<SystemCalls> lobby;
};

/// Has the other side hung up? Waits for it.
bool hung_up(const Descriptor& caller) {
    std::byte byte{};
    return poll_until(caller.get(), POLLIN, late()) &&
           receive_some<SystemCalls>(caller.get(), {&byte, 1}).state == Moved::State::closed;
}

BOOST_AUTO_TEST_CASE(guests_are_received_in_the_order_in_which_they_speak) {
    House house;
    const Descriptor silent = house.connect();
    const Descriptor third = house.introduce(3);
    const Descriptor slow = house.connect();
    const Descriptor fifth = house.introduce(5);
    BOOST_TEST(house.next(late()) == 3);
    BOOST_TEST(house.next(late()) == 5);
    const auto hello = encode(Hello{4, 8, Role::control, 0, ""});
    House::say(slow, std::span(hello).first(50));
    BOOST_TEST(house.next(Deadline::after(Seconds{0.02})) == -1);
    House::say(slow, std::span(hello).subspan(50));
    BOOST_TEST(house.next(late()) == 4);
}

BOOST_AUTO_TEST_CASE(strangers_are_shown_out_and_keep_nobody_waiting) {
    House house;
    std::vector<Descriptor> strangers;
    for (int index = 0; index < 100; ++index) {
        strangers.push_back(house.connect());
        House::say(strangers.back(), "GET / HTTP/1.1\r\nHost: 127.0.0.1:29500 of ours\r\n\r\n");
    }
    const HeaderBytes greedy = encode(Header{.kind = FrameKind::hello, .bytes = std::uint64_t{1} << 62});
    strangers.push_back(house.connect());
    House::say(strangers.back(), greedy);
    house.connect().reset();  // comes and goes
    const linger at_once{1, 0};
    Descriptor resetting = house.connect();
    ::setsockopt(resetting.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    resetting.reset();
    const Descriptor rank = house.introduce(1);
    BOOST_TEST(house.next(late()) == 1);
    BOOST_TEST(house.next(Deadline::after(Seconds{0.02})) == -1);
    for (const Descriptor& stranger : strangers) BOOST_TEST(hung_up(stranger));
}

BOOST_AUTO_TEST_CASE(the_silent_are_shown_out_when_patience_ends) {
    House house(Seconds{0.02});
    const Descriptor silent = house.connect();
    const Descriptor stuck = house.connect();
    House::say(stuck, "LKST");
    BOOST_TEST(house.next(Deadline::after(Seconds{0.2})) == -1);
    BOOST_TEST(hung_up(silent));
    BOOST_TEST(hung_up(stuck));
}

BOOST_AUTO_TEST_CASE(whoever_is_watched_is_heard_first) {
    House house;
    int ends[4] = {-1, -1, -1, -1};
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2) == 0);
    const Descriptor quiet(ends[0]);
    const Descriptor quiet_end(ends[1]);
    const Descriptor loud(ends[2]);
    Descriptor loud_end(ends[3]);
    loud_end.reset();  // Hanging up is news as well.
    const int watched[] = {quiet.get(), loud.get()};
    std::optional<std::size_t> spoke;
    BOOST_TEST(!house.lobby.next(late(), watched, spoke).has_value());
    BOOST_REQUIRE(spoke.has_value());
    BOOST_TEST(*spoke == 1U);
}

BOOST_AUTO_TEST_CASE(a_listener_that_would_block_does_not) {
    Descriptor listener = listen_at("127.0.0.1:0", 0);
    ::fcntl(listener.get(), F_SETFL, ::fcntl(listener.get(), F_GETFL) & ~O_NONBLOCK);
    const std::string address = to_text(local_address(listener.get()));
    Lobby<SystemCalls> lobby(std::move(listener), Seconds{30}, 0);
    const Descriptor silent = connect_to(address, 0, late());
    std::optional<std::size_t> spoke;
    BOOST_TEST(!lobby.next(Deadline::after(Seconds{0.02}), {}, spoke).has_value());
}

BOOST_AUTO_TEST_CASE(a_listener_that_does_not_listen_is_an_error) {
    Lobby<SystemCalls> lobby(open_socket(AF_INET, 0), Seconds{30}, 0);
    std::optional<std::size_t> spoke;
    const auto outcome = test::outcome_of([&] { lobby.next(late(), {}, spoke); });
    test::check_error(outcome, ErrorKind::transport, {"accept"});
}

}  // namespace
