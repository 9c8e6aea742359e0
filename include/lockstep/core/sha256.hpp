// SPDX-License-Identifier: MIT
/// @file
/// SHA-256 and HMAC-SHA-256, by which ranks prove that they know a secret.
/// Source: FIPS 180-4, Secure Hash Standard; RFC 2104, HMAC: Keyed-Hashing for Message Authentication.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// 32 bytes.
using Sha256Digest = std::array<std::byte, 32>;

/// Takes bytes in any number of pieces.
class Sha256 {
public:
    static constexpr std::size_t block_bytes = 64;

    void update(std::span<const std::byte> bytes) noexcept {
        length_ += bytes.size();
        for (const std::byte each : bytes) {
            block_[used_++] = each;
            if (used_ == block_bytes) compress();
        }
    }

    /// Of all that was given; the object is used up.
    Sha256Digest digest() noexcept {
        const std::uint64_t bits = 8 * length_;
        block_[used_++] = std::byte{0x80};
        if (used_ > block_bytes - 8) {
            std::memset(block_.data() + used_, 0, block_bytes - used_);
            compress();
        }
        std::memset(block_.data() + used_, 0, block_bytes - used_);
        for (std::size_t index = 0; index < 8; ++index) {
            block_[block_bytes - 1 - index] = static_cast<std::byte>(bits >> (8 * index));
        }
        compress();
        Sha256Digest result;
        for (std::size_t index = 0; index < result.size(); ++index) {
            result[index] = static_cast<std::byte>(state_[index / 4] >> (24 - 8 * (index % 4)));
        }
        return result;
    }

private:
    // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    static constexpr std::array<std::uint32_t, 64> constants{
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

    void compress() noexcept {
        used_ = 0;
        std::array<std::uint32_t, 64> words{};
        for (std::size_t index = 0; index < 16; ++index) {
            for (std::size_t byte = 0; byte < 4; ++byte) {
                words[index] = words[index] << 8 | std::to_integer<std::uint32_t>(block_[4 * index + byte]);
            }
        }
        for (std::size_t index = 16; index < 64; ++index) {
            const std::uint32_t early = words[index - 15];
            const std::uint32_t late = words[index - 2];
            words[index] = words[index - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) +
                           words[index - 7] + (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
        }
        std::array<std::uint32_t, 8> s = state_;
        for (std::size_t index = 0; index < 64; ++index) {
            const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
            const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            const std::uint32_t first = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                        choice + constants[index] + words[index];
            const std::uint32_t second = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
            s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
        }
        for (std::size_t index = 0; index < 8; ++index) state_[index] += s[index];
    }

    // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::byte, block_bytes> block_{};
    std::size_t used_ = 0;
    std::uint64_t length_ = 0;
};

/// What only those can compute who know `key`: of the pieces, one after the other.
inline Sha256Digest hmac_sha256(std::span<const std::byte> key,
                                std::initializer_list<std::span<const std::byte>> pieces) noexcept {
    std::array<std::byte, Sha256::block_bytes> padded{};
    if (key.size() > padded.size()) {
        Sha256 hash;
        hash.update(key);
        const Sha256Digest shorter = hash.digest();
        std::memcpy(padded.data(), shorter.data(), shorter.size());
    } else if (!key.empty()) {
        std::memcpy(padded.data(), key.data(), key.size());
    }
    const auto padded_with = [&padded](std::byte pad) {
        auto copy = padded;
        for (std::byte& each : copy) each ^= pad;
        return copy;
    };
    Sha256 inner;
    inner.update(padded_with(std::byte{0x36}));
    for (const auto piece : pieces) inner.update(piece);
    const Sha256Digest inner_digest = inner.digest();
    Sha256 outer;
    outer.update(padded_with(std::byte{0x5c}));
    outer.update(inner_digest);
    return outer.digest();
}

/// Are they the same? Takes as long wherever they differ, so that nobody can find a proof byte by byte.
inline bool same_digest(std::span<const std::byte> left, std::span<const std::byte> right) noexcept {
    if (left.size() != right.size()) return false;
    std::byte difference{};
    for (std::size_t index = 0; index < left.size(); ++index) difference |= left[index] ^ right[index];
    return difference == std::byte{};
}

}  // namespace lockstep
