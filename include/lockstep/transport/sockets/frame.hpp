// SPDX-License-Identifier: MIT
/// @file
/// The wire: every message is a 48-byte header and a payload. docs/wire.md has it on one page, byte by byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/core/call.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep::detail {

enum class FrameKind : std::uint8_t {
    hello = 1,
    welcome = 2,
    data = 3,
    failure = 4,
    goodbye = 5,
    challenge = 6,
    proof = 7,
    inquiry = 8,  ///< rank 0 asks: whom do you wait for?
    waiting = 9,  ///< for whom, and in which call: header as that of data, payload the rank (4 bytes)
};

inline constexpr std::size_t header_bytes = 48;
inline constexpr std::uint8_t wire_version = 1;
/// No control message is longer; a length beyond it is no length.
inline constexpr std::size_t max_control_bytes = std::size_t{1} << 20;
/// A hello is read from connections that may be anybody's.
inline constexpr std::size_t max_hello_bytes = 512;

using HeaderBytes = std::array<std::byte, header_bytes>;

struct Header {
    FrameKind kind = FrameKind::data;
    Request request{};
    std::uint64_t sequence = 0;
    std::uint64_t bytes = 0;
};

/// Writes the low `count` bytes of `value`, lowest first.
inline void put(std::byte* to, std::uint64_t value, int count) noexcept {
    for (int index = 0; index < count; ++index) to[index] = static_cast<std::byte>(value >> (8 * index));
}
inline std::uint64_t get(const std::byte* from, int count) noexcept {
    std::uint64_t value = 0;
    for (int index = 0; index < count; ++index) value |= std::to_integer<std::uint64_t>(from[index]) << (8 * index);
    return value;
}
inline void append(std::vector<std::byte>& bytes, std::uint64_t value, int count) {
    bytes.resize(bytes.size() + static_cast<std::size_t>(count));
    put(bytes.data() + bytes.size() - count, value, count);
}
inline void append(std::vector<std::byte>& bytes, std::string_view text) {
    const std::size_t size = bytes.size();
    bytes.resize(size + text.size());
    if (!text.empty()) std::memcpy(bytes.data() + size, text.data(), text.size());
}
inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline HeaderBytes encode(const Header& header) noexcept {
    HeaderBytes bytes{};
    std::memcpy(bytes.data(), "LKST", 4);
    put(&bytes[4], wire_version, 1);
    put(&bytes[5], static_cast<std::uint8_t>(header.kind), 1);
    put(&bytes[6], static_cast<std::uint8_t>(header.request.operation), 1);
    put(&bytes[7], static_cast<std::uint8_t>(header.request.reduction), 1);
    put(&bytes[8], static_cast<std::uint8_t>(header.request.type), 1);
    put(&bytes[12], static_cast<std::uint32_t>(header.request.root), 4);
    std::memcpy(&bytes[16], header.request.topology.data(), 8);
    put(&bytes[24], header.sequence, 8);
    put(&bytes[32], header.request.elements, 8);
    put(&bytes[40], header.bytes, 8);
    return bytes;
}

/// Nothing if these bytes are no header of this version: nothing else in them is then believed.
inline std::optional<Header> decode(const HeaderBytes& bytes) noexcept {
    if (std::memcmp(bytes.data(), "LKST", 4) != 0 || get(&bytes[4], 1) != wire_version) return std::nullopt;
    const std::uint64_t kind = get(&bytes[5], 1);
    if (kind < 1 || kind > 9 || get(&bytes[9], 3) != 0) return std::nullopt;
    Header header;
    header.kind = static_cast<FrameKind>(kind);
    header.request.operation = static_cast<Operation>(get(&bytes[6], 1));
    header.request.reduction = static_cast<Reduction>(get(&bytes[7], 1));
    header.request.type = static_cast<ElementType>(get(&bytes[8], 1));
    header.request.root = static_cast<std::int32_t>(static_cast<std::uint32_t>(get(&bytes[12], 4)));
    std::memcpy(header.request.topology.data(), &bytes[16], 8);
    header.sequence = get(&bytes[24], 8);
    header.request.elements = get(&bytes[32], 8);
    header.bytes = get(&bytes[40], 8);
    return header;
}

/// A whole control message, ready to be written; the length of its payload is put into `fields`.
inline std::vector<std::byte> control_frame(Header fields, std::span<const std::byte> payload) {
    fields.bytes = payload.size();
    const HeaderBytes header = encode(fields);
    std::vector<std::byte> bytes(header.size() + payload.size());
    std::memcpy(bytes.data(), header.data(), header.size());
    if (!payload.empty()) std::memcpy(bytes.data() + header.size(), payload.data(), payload.size());
    return bytes;
}
/// One that is about no call.
inline std::vector<std::byte> control_frame(FrameKind kind, std::span<const std::byte> payload) {
    return control_frame(Header{.kind = kind, .request = {.operation = Operation{}, .type = ElementType{}}}, payload);
}

/// What a connection is for. Control connections join every rank to rank 0; data connections join pairs of ranks.
enum class Role : std::uint8_t { control = 1, data = 2 };

/// How a rank introduces itself: payload of a hello frame.
/// rank (4 bytes), world size (4), role (1), job (8; for data, the session that rank 0 has named), then the address at
/// which this rank listens, as text.
struct Hello {
    int rank = 0;
    int world_size = 0;
    Role role = Role::control;
    std::uint64_t job = 0;
    std::string address;
};

inline std::vector<std::byte> encode(const Hello& hello) {
    std::vector<std::byte> bytes;
    append(bytes, static_cast<std::uint32_t>(hello.rank), 4);
    append(bytes, static_cast<std::uint32_t>(hello.world_size), 4);
    append(bytes, static_cast<std::uint8_t>(hello.role), 1);
    append(bytes, hello.job, 8);
    append(bytes, hello.address);
    return control_frame(FrameKind::hello, bytes);
}

inline std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
    if (bytes.size() < 17) return std::nullopt;
    const std::uint64_t role = get(&bytes[8], 1);
    if (role < 1 || role > 2) return std::nullopt;
    return Hello{static_cast<std::int32_t>(static_cast<std::uint32_t>(get(&bytes[0], 4))),
                 static_cast<std::int32_t>(static_cast<std::uint32_t>(get(&bytes[4], 4))), static_cast<Role>(role),
                 get(&bytes[9], 8), text_of(bytes.subspan(17))};
}

/// Payload of rank 0's welcome: session (8 bytes), then every rank's address, each followed by a line feed.
struct Welcome {
    std::uint64_t session = 0;  ///< by chance, so that data connections of an earlier life of this job are strangers
    std::vector<std::string> addresses;
};

inline std::vector<std::byte> encode(const Welcome& welcome) {
    std::vector<std::byte> bytes;
    append(bytes, welcome.session, 8);
    for (const std::string& address : welcome.addresses) append(bytes, address + "\n");
    return control_frame(FrameKind::welcome, bytes);
}

inline std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes) {
    if (bytes.size() < 8) return std::nullopt;
    Welcome welcome{get(&bytes[0], 8), {}};
    const std::string text = text_of(bytes.subspan(8));
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = (std::min)(text.find('\n', begin), text.size());
        welcome.addresses.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return welcome;
}

/// Payload of a failure frame: kind (1 byte), rank at fault (4), message as text.
inline std::vector<std::byte> encode(const Failure& failure) {
    std::vector<std::byte> bytes;
    append(bytes, static_cast<std::uint8_t>(failure.kind), 1);
    append(bytes, static_cast<std::uint32_t>(failure.rank), 4);
    append(bytes, std::string_view(failure.message).substr(0, 4096));
    return control_frame(FrameKind::failure, bytes);
}

inline std::optional<Failure> decode_failure(std::span<const std::byte> bytes) {
    if (bytes.size() < 5 || get(&bytes[0], 1) > static_cast<std::uint8_t>(ErrorKind::configuration))
        return std::nullopt;
    return Failure{static_cast<ErrorKind>(get(&bytes[0], 1)),
                   static_cast<std::int32_t>(static_cast<std::uint32_t>(get(&bytes[1], 4))), text_of(bytes.subspan(5))};
}

}  // namespace lockstep::detail
