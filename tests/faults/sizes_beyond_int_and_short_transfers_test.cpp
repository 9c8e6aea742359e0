// SPDX-License-Identifier: MIT
// Trial B18: sizes beyond INT_MAX, short reads and writes.
#include <lockstep/transport/sockets.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/conformance/reducer.hpp"
#include "support/reducers/every_reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// A system that moves at most 7 bytes a call: headers, payloads and elements come in parts.
struct SevenBytes {
    class Shorter {
    public:
        explicit Shorter(const msghdr& whole) : message_(whole) {
            std::size_t room = 7;
            for (std::size_t index = 0; index < whole.msg_iovlen; ++index) {
                pieces_[index] = whole.msg_iov[index];
                pieces_[index].iov_len = std::min(pieces_[index].iov_len, room);
                room -= pieces_[index].iov_len;
            }
            message_.msg_iov = pieces_.data();
        }
        msghdr& message() noexcept { return message_; }

    private:
        std::array<iovec, 2> pieces_{};
        msghdr message_;
    };

    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        return SystemCalls::send(descriptor, Shorter(message).message());
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        return SystemCalls::receive(descriptor, Shorter(message).message());
    }
};

using Runners = boost::mpl::list<test::OverSockets<LocalSockets::tcp, SevenBytes>,
                                 test::OverSockets<LocalSockets::unix_domain, SevenBytes>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(reducers_obey_their_laws_seven_bytes_at_a_time, Runner, Runners) {
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        test::check_reducer<Runner>(reducer, std::array{1, 2, 3});
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_byte_arrives_seven_at_a_time, Runner, Runners) {
    constexpr std::size_t length = 10'007;
    test::check_all_well(Runner::run(3, [](auto& link) {
        std::vector<std::uint8_t> bytes(length);
        for (std::size_t index = 0; index < length && link.rank() == 1; ++index) {
            bytes[index] = static_cast<std::uint8_t>(index % 251);
        }
        broadcast(link, std::span(bytes), 1);
        test::expect_each(
            length, [&](std::size_t index) { return bytes[index] == index % 251; }, "bytes");
    }));
}

// One float more than fit into 2^31 - 1 bytes.
constexpr std::size_t many = (std::size_t{1} << 29) + 1;
constexpr std::uint64_t many_bytes = 2'147'483'652;
static_assert(many * sizeof(float) == many_bytes && many_bytes > INT_MAX);

static_assert(counts_of<Naive>(1, 2, many).elements_sent * sizeof(float) == many_bytes);
static_assert(counts_of<Tree>(0, 8, many).elements_sent * sizeof(float) == 3 * many_bytes);
static_assert(counts_of<Ring>(0, 2, many).elements_sent + counts_of<Ring>(1, 2, many).elements_sent == 2 * many);
static_assert(counts_of<Naive>(0, 64, 64 * many).elements_sent == 63 * 64 * many);
static_assert(elements_of({1, 0, 1}, many, 1) == Shard{0, many} && shard_of(many, 2, 3).end() == many);

// Sizes are as wide on the wire as in memory.
static_assert(std::same_as<decltype(Request::elements), std::uint64_t> && sizeof(Traffic::bytes) == 8);
static_assert(std::same_as<decltype(detail::Header::bytes), std::uint64_t>);

BOOST_AUTO_TEST_CASE(headers_carry_64_bits) {
    for (const std::uint64_t bytes : {many_bytes, many_bytes << 31, ~std::uint64_t{0}}) {
        const detail::Header sent{detail::FrameKind::data, Request{.elements = bytes / 4}, bytes - 1, bytes};
        const auto received = detail::decode(detail::encode(sent));
        BOOST_REQUIRE(received.has_value());
        BOOST_TEST(received->bytes == bytes);
        BOOST_TEST(received->sequence == bytes - 1);
        BOOST_TEST(received->request.elements == bytes / 4);
    }
}

BOOST_AUTO_TEST_CASE(messages_name_all_of_the_bytes) {
    const Request request{Operation::all_reduce, Reduction::sum, ElementType::float32, 0, short_name("ring"), many};
    BOOST_TEST(to_string(0, request) == "all_reduce #0 (sum of 536870913 float32, 2147483652 bytes, ring)");
}

}  // namespace
