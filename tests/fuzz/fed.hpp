// SPDX-License-Identifier: MIT
/// @file
/// A layer of system calls that receives what the fuzzer has made up, in pieces of sizes that it has made up too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <sys/socket.h>

namespace fuzz {

struct Fed {
    static inline std::span<const std::uint8_t> rest;

    static ssize_t send(int, const msghdr& message) noexcept {
        std::size_t size = 0;
        for (std::size_t index = 0; index < message.msg_iovlen; ++index) size += message.msg_iov[index].iov_len;
        return static_cast<ssize_t>(size);
    }
    static ssize_t receive(int, msghdr& message) noexcept {
        if (rest.empty()) return 0;  // The other side has hung up.
        std::size_t piece = 1 + rest[0] % 64U;
        rest = rest.subspan(1);
        std::size_t done = 0;
        for (std::size_t index = 0; index < message.msg_iovlen && piece > 0; ++index) {
            const std::size_t size = std::min({message.msg_iov[index].iov_len, rest.size(), piece});
            if (size > 0) std::memcpy(message.msg_iov[index].iov_base, rest.data(), size);
            rest = rest.subspan(size);
            piece -= size;
            done += size;
        }
        return static_cast<ssize_t>(done);
    }
};

inline std::span<const std::byte> as_bytes(const std::uint8_t* data, std::size_t size) {
    return std::as_bytes(std::span(data, size));
}

/// Ends the program, so that the fuzzer keeps the input, if something that must hold does not.
inline void require(bool condition) {
    if (!condition) __builtin_trap();
}

}  // namespace fuzz
