// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/io.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

struct Pair {
    Pair() {
        int ends[2] = {-1, -1};
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        near = Descriptor(ends[0]);
        far = Descriptor(ends[1]);
    }
    Descriptor near;
    Descriptor far;
};

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

Deadline soon() { return Deadline::after(Seconds{0.01}); }
Deadline late() { return Deadline::after(Seconds{30}); }

BOOST_AUTO_TEST_CASE(a_descriptor_closes_once_and_only_what_it_owns) {
    Pair pair;
    const int number = pair.near.get();
    const int other = pair.far.get();
    {
        Descriptor moved = std::move(pair.near);
        BOOST_TEST(moved.get() == number);
        BOOST_TEST(!pair.near);
        pair.far = std::move(moved);
        BOOST_TEST(is_open(number));
    }
    BOOST_TEST(!is_open(other));
    BOOST_TEST(is_open(number));
    BOOST_TEST(pair.far.release() == number);
    BOOST_TEST(!pair.far);
    pair.far.reset();
    BOOST_TEST(is_open(number));
    Descriptor(number).reset();
    BOOST_TEST(!is_open(number));
}

BOOST_AUTO_TEST_CASE(two_pieces_are_sent_from_where_the_last_call_stopped) {
    const auto first = test::message(1, 0, 10);
    const auto second = test::message(2, 0, 20);
    std::vector<std::byte> whole(first.begin(), first.end());
    whole.insert(whole.end(), second.begin(), second.end());
    for (const std::size_t done : {0U, 9U, 10U, 11U, 29U, 30U}) {
        const Pair pair;
        const Moved sent = send_some<SystemCalls>(pair.near.get(), first, second, done);
        BOOST_TEST((sent.state == Moved::State::some));
        BOOST_TEST(sent.bytes == 30 - done);
        std::vector<std::byte> room(40);
        const Moved received = receive_some<SystemCalls>(pair.far.get(), room);
        BOOST_TEST(received.bytes == 30 - done);
        BOOST_TEST(std::equal(whole.begin() + static_cast<std::ptrdiff_t>(done), whole.end(), room.begin()));
        BOOST_TEST((received.state == (done == 30 ? Moved::State::blocked : Moved::State::some)));
    }
}

BOOST_AUTO_TEST_CASE(what_arrives_fills_the_first_piece_first) {
    const Pair pair;
    const auto sent = test::message(1, 0, 12);
    BOOST_REQUIRE(write_all<SystemCalls>(pair.near.get(), sent, late()));
    std::array<std::byte, 5> first{};
    std::array<std::byte, 9> second{};
    const Moved moved = receive_some<SystemCalls>(pair.far.get(), first, second);
    BOOST_TEST(moved.bytes == 12U);
    BOOST_TEST(std::equal(first.begin(), first.end(), sent.begin()));
    BOOST_TEST(std::equal(second.begin(), second.begin() + 7, sent.begin() + 5));
    BOOST_TEST((second[7] == std::byte{0} && second[8] == std::byte{0}));
}

BOOST_AUTO_TEST_CASE(nothing_to_move_is_no_call_at_all) {
    // No such descriptor: a call would fail.
    BOOST_TEST((send_some<SystemCalls>(-1, {}, {}, 0).state == Moved::State::some));
    BOOST_TEST((receive_some<SystemCalls>(-1, {}).state == Moved::State::some));
}

BOOST_AUTO_TEST_CASE(blocked_closed_and_broken_are_told_apart) {
    Pair pair;
    std::array<std::byte, 4> room{};
    BOOST_TEST((receive_some<SystemCalls>(pair.near.get(), room).state == Moved::State::blocked));
    const std::vector<std::byte> much(std::size_t{1} << 20);
    Moved moved;
    do moved = send_some<SystemCalls>(pair.near.get(), much, {}, 0);
    while (moved.state == Moved::State::some);
    BOOST_TEST((moved.state == Moved::State::blocked));

    Pair other;
    other.far.reset();
    const Moved ended = receive_some<SystemCalls>(other.near.get(), room);
    BOOST_TEST((ended.state == Moved::State::closed));
    BOOST_TEST(ended.error == 0);
    // No signal comes with this: it would end the program.
    const Moved broken = send_some<SystemCalls>(other.near.get(), room, {}, 0);
    BOOST_TEST((broken.state == Moved::State::closed));
    BOOST_TEST(broken.error == EPIPE);
}

BOOST_AUTO_TEST_CASE(whole_messages_end_with_the_deadline_or_the_other_side) {
    Pair pair;
    std::array<std::byte, 4> room{};
    BOOST_TEST(!read_all<SystemCalls>(pair.near.get(), room, soon()));
    BOOST_REQUIRE(write_all<SystemCalls>(pair.far.get(), test::message(0, 0, 3), late()));
    BOOST_TEST(!read_all<SystemCalls>(pair.near.get(), room, soon()));
    const std::vector<std::byte> much(std::size_t{16} << 20);
    BOOST_TEST(!write_all<SystemCalls>(pair.near.get(), much, soon()));

    Pair other;
    BOOST_REQUIRE(write_all<SystemCalls>(other.far.get(), test::message(0, 0, 4), late()));
    other.far.reset();
    // What was sent before the end is there, also after the deadline; then comes the end.
    BOOST_TEST(read_all<SystemCalls>(other.near.get(), room, Deadline::after(Seconds{0})));
    BOOST_TEST(!read_all<SystemCalls>(other.near.get(), room, late()));
    BOOST_TEST(!write_all<SystemCalls>(other.near.get(), room, late()));
}

BOOST_AUTO_TEST_CASE(signals_do_not_extend_a_wait) {
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &ignore, &before);
    const itimerval storm{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &storm, nullptr);
    const Pair pair;
    const Deadline deadline = Deadline::after(Seconds{0.05});
    const bool ready = poll_until(pair.near.get(), POLLIN, deadline);
    const bool in_time = !deadline.passed();
    ::setitimer(ITIMER_REAL, nullptr, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    BOOST_TEST(!ready);
    BOOST_TEST(!in_time);
}

/// Interrupted twice before each call that works.
struct Interrupted {
    static inline int calls = 0;
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        errno = EINTR;
        return ++calls % 3 == 0 ? SystemCalls::send(descriptor, message) : -1;
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        errno = EINTR;
        return ++calls % 3 == 0 ? SystemCalls::receive(descriptor, message) : -1;
    }
};

BOOST_AUTO_TEST_CASE(an_interrupted_call_is_made_again) {
    const Pair pair;
    BOOST_TEST(send_some<Interrupted>(pair.near.get(), test::message(0, 0, 4), {}, 0).bytes == 4U);
    std::array<std::byte, 4> room{};
    BOOST_TEST(receive_some<Interrupted>(pair.far.get(), room).bytes == 4U);
    BOOST_TEST(Interrupted::calls == 6);
}

}  // namespace
