// SPDX-License-Identifier: MIT
/// @file
/// Messages whose every byte is known, and what is expected of an error that arrives instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <lockstep/core/call.hpp>

#include <boost/test/unit_test.hpp>

#include "support/world.hpp"

namespace test {

/// Lengths about the edges of headers, pages and pieces.
inline constexpr std::array<std::size_t, 6> message_sizes{0, 1, 7, 48, 4097, (std::size_t{1} << 20) + 3};

/// What `sender` sends as its message `number`: byte i is (29 sender + 7 number + i) mod 251.
inline std::span<const std::byte> message(int sender, std::size_t number, std::size_t size) {
    static const std::vector<std::byte> counting = [] {
        std::vector<std::byte> bytes(message_sizes.back() + 251);
        for (std::size_t index = 0; index < bytes.size(); ++index) bytes[index] = static_cast<std::byte>(index % 251);
        return bytes;
    }();
    return std::span(counting).subspan((29 * static_cast<std::size_t>(sender) + 7 * number) % 251, size);
}

inline lockstep::Request bytes_request(std::size_t size) {
    return {.operation = lockstep::Operation::broadcast, .topology = lockstep::short_name("test"), .elements = size};
}

template <class Link>
int left_of(const Link& link) {
    return (link.rank() + link.world_size() - 1) % link.world_size();
}
template <class Link>
int right_of(const Link& link) {
    return (link.rank() + 1) % link.world_size();
}

/// Sends message `number` to one rank while receiving that of another. Throws if a byte is wrong, or one too many.
template <class Link>
void exchange_message(Link& link, const lockstep::Call& call, int to, int from, std::size_t number, std::size_t size) {
    std::vector<std::byte> room(size + 1, std::byte{0xFF});
    link.exchange(call, {to, message(link.rank(), number, to < 0 ? 0 : size)}, {from, std::span(room).first(size)});
    if (from >= 0) {
        const auto expected = message(from, number, size);
        expect(std::memcmp(expected.data(), room.data(), size) == 0, "bytes of rank " + std::to_string(from));
    }
    expect(room.back() == std::byte{0xFF}, "a byte too many");
}

/// Asserts that a rank threw a lockstep error of this kind with all `parts` in its text.
inline void check_error(const Outcome& outcome, lockstep::ErrorKind kind, const std::vector<std::string>& parts) {
    BOOST_TEST(outcome.is_error, "no lockstep error, but \"" << outcome.message << "\"");
    BOOST_TEST((outcome.kind == kind), "kind " << static_cast<int>(outcome.kind) << " of " << outcome.message);
    for (const std::string& part : parts) {
        BOOST_TEST(outcome.message.find(part) != std::string::npos, outcome.message << " lacks \"" << part << "\"");
    }
}

/// Exchanges along the ring until something goes wrong: news of a failure reaches a rank within one round.
template <class Link>
void go_round(Link& link, const lockstep::Call& call, std::size_t size = 8) {
    for (int step = 0; step < 2 * link.world_size(); ++step) {
        exchange_message(link, call, right_of(link), left_of(link), 0, size);
    }
}

}  // namespace test
