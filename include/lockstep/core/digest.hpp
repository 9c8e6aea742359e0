// SPDX-License-Identifier: MIT
/// @file
/// A 64-bit digest of bytes: to see at a glance whether two ranks hold the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// FNV-1a (Fowler, Noll, Vo), 64 bits. Not cryptographic: it finds accidents, not forgeries.
inline std::uint64_t digest(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const std::byte byte : bytes) {
        hash ^= std::to_integer<std::uint64_t>(byte);
        hash *= 0x100000001B3U;
    }
    return hash;
}

/// The digest of the bits of `values`, as 16 lower-case hexadecimal digits.
template <class Value>
std::string hex_digest(std::span<const Value> values) {
    const std::uint64_t hash = digest(std::as_bytes(values));
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(hash >> shift) & 15U];
    return text;
}

}  // namespace lockstep
