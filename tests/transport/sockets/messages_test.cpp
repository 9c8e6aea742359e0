// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/messages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>

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
    void write(std::span<const std::byte> bytes) const {
        BOOST_REQUIRE(write_all<SystemCalls>(far.get(), bytes, Deadline::after(Seconds{30})));
    }
    std::optional<Message> read(Seconds patience = Seconds{30}) const {
        return read_message<SystemCalls>(near.get(), Deadline::after(patience));
    }
    Descriptor near;
    Descriptor far;
};

/// A header that promises `bytes` bytes, which do not come.
HeaderBytes promise(FrameKind kind, std::uint64_t bytes) { return encode(Header{.kind = kind, .bytes = bytes}); }

BOOST_AUTO_TEST_CASE(messages_are_read_one_by_one) {
    Pair pair;
    const auto payload = test::message(1, 0, 1000);
    pair.write(control_frame(FrameKind::welcome, payload));
    pair.write(control_frame(FrameKind::goodbye, {}));
    const auto first = pair.read();
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST((first->kind() == FrameKind::welcome));
    BOOST_TEST(std::equal(payload.begin(), payload.end(), first->payload.begin(), first->payload.end()));
    const auto second = pair.read();
    BOOST_REQUIRE(second.has_value());
    BOOST_TEST((second->kind() == FrameKind::goodbye));
    BOOST_TEST(second->payload.empty());
    BOOST_TEST(!pair.read(Seconds{0.01}).has_value());
    pair.far.reset();
    BOOST_TEST(!pair.read().has_value());
}

BOOST_AUTO_TEST_CASE(a_length_beyond_the_bound_is_refused_before_memory_is_taken_for_it) {
    // Whoever believed the length would wait for the payload, or fail to find memory for it.
    for (const std::uint64_t bytes :
         {std::uint64_t{max_control_bytes} + 1, std::uint64_t{542393671}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
        const Pair pair;
        pair.write(promise(FrameKind::failure, bytes));
        const Deadline deadline = Deadline::after(Seconds{30});
        BOOST_TEST(!read_message<SystemCalls>(pair.near.get(), deadline).has_value());
        BOOST_TEST(!deadline.passed());
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_control_message_is_refused) {
    const Pair data;
    data.write(promise(FrameKind::data, 0));
    BOOST_TEST(!data.read().has_value());
    const Pair stranger;
    stranger.write(
        std::as_bytes(std::span(std::string_view("GET / HTTP/1.1\r\nHost: 127.0.0.1:29500 of ours\r\n\r\n"))));
    BOOST_TEST(!stranger.read().has_value());
    Pair cut;
    cut.write(promise(FrameKind::welcome, 2));
    cut.write(test::message(0, 0, 1));
    cut.far.reset();
    BOOST_TEST(!cut.read().has_value());
}

BOOST_AUTO_TEST_CASE(what_a_message_out_of_turn_means) {
    const auto frame = encode(Failure{ErrorKind::shape, 5, "sizes differ"});
    const Failure told =
        failure_in(Message{Header{.kind = FrameKind::failure}, {frame.begin() + header_bytes, frame.end()}}, 2);
    BOOST_TEST((told.kind == ErrorKind::shape));
    BOOST_TEST(told.rank == 5);
    BOOST_TEST(told.message == "sizes differ");

    const Failure left = failure_in(Message{Header{.kind = FrameKind::goodbye}, {}}, 2);
    BOOST_TEST((left.kind == ErrorKind::peer_lost));
    BOOST_TEST(left.rank == 2);
    BOOST_TEST(left.message == "rank 2 has left");

    for (const auto& message :
         {std::optional<Message>{}, std::optional(Message{Header{.kind = FrameKind::failure}, {}}),
          std::optional(Message{Header{.kind = FrameKind::hello}, {}})}) {
        const Failure lost = failure_in(message, 3);
        BOOST_TEST((lost.kind == ErrorKind::peer_lost));
        BOOST_TEST(lost.rank == 3);
        BOOST_TEST(lost.message.find("rank 3 is lost") == 0U);
    }
}

// ---- Guests -------------------------------------------------------------------------------------------------

Guest guest_at(Pair& pair, Seconds patience = Seconds{30}) {
    return Guest(std::move(pair.near), Deadline::after(patience));
}

BOOST_AUTO_TEST_CASE(a_guest_may_introduce_itself_byte_by_byte) {
    Pair pair;
    Guest guest = guest_at(pair);
    const auto frame = encode(Hello{4, 8, Role::data, 77, "[::1]:5"});
    for (const std::byte& byte : frame) {
        BOOST_TEST((guest.read<SystemCalls>(77) == Guest::State::waiting));
        pair.write({&byte, 1});
    }
    BOOST_REQUIRE((guest.read<SystemCalls>(77) == Guest::State::ready));
    BOOST_TEST(guest.hello().rank == 4);
    BOOST_TEST(guest.hello().world_size == 8);
    BOOST_TEST((guest.hello().role == Role::data));
    BOOST_TEST(guest.hello().job == 77U);
    BOOST_TEST(guest.hello().address == "[::1]:5");
}

BOOST_AUTO_TEST_CASE(a_guest_is_read_no_further_than_its_hello) {
    Pair pair;
    Guest guest = guest_at(pair);
    pair.write(encode(Hello{4, 8, Role::data, 77, ""}));
    pair.write(control_frame(FrameKind::goodbye, {}));
    BOOST_REQUIRE((guest.read<SystemCalls>(77) == Guest::State::ready));
    pair.near = guest.take();
    const auto next = pair.read();
    BOOST_REQUIRE(next.has_value());
    BOOST_TEST((next->kind() == FrameKind::goodbye));
}

BOOST_AUTO_TEST_CASE(strangers_are_known_by_their_header) {
    for (const HeaderBytes& header :
         {HeaderBytes{}, promise(FrameKind::welcome, 17), promise(FrameKind::data, 17), promise(FrameKind::failure, 17),
          promise(FrameKind::hello, max_hello_bytes + 1), promise(FrameKind::hello, ~std::uint64_t{0})}) {
        Pair pair;
        Guest guest = guest_at(pair);
        pair.write(header);
        BOOST_TEST((guest.read<SystemCalls>(77) == Guest::State::stranger));
    }
    // The longest hello that there is, and one too short to be any.
    Pair longest;
    Guest patient = guest_at(longest);
    longest.write(encode(Hello{0, 1, Role::control, 77, std::string(max_hello_bytes - 17, 'x')}));
    BOOST_TEST((patient.read<SystemCalls>(77) == Guest::State::ready));
    Pair shortest;
    Guest brief = guest_at(shortest);
    shortest.write(promise(FrameKind::hello, 0));
    BOOST_TEST((brief.read<SystemCalls>(77) == Guest::State::stranger));
}

BOOST_AUTO_TEST_CASE(silence_and_hanging_up_make_a_stranger) {
    Pair silent;
    Guest quiet = guest_at(silent, Seconds{0});
    BOOST_TEST((quiet.read<SystemCalls>(77) == Guest::State::stranger));
    Pair closed;
    Guest gone = guest_at(closed);
    closed.write(promise(FrameKind::hello, 17));
    closed.far.reset();
    BOOST_TEST((gone.read<SystemCalls>(77) == Guest::State::stranger));
}

}  // namespace
