// SPDX-License-Identifier: MIT
/// @file
/// How both ends of a connection prove that they know the job's secret, without telling it.
///
/// After its hello, the caller sends a challenge (16 random bytes). The listener answers with a proof: 16 random bytes of
/// its own, and an HMAC-SHA-256 with the secret as key. The caller checks it and sends its own HMAC. Both are of who
/// speaks, the payload of the hello (which has rank, world size, role and job), and both challenges: a proof is worth
/// nothing later, or for another rank. It does not help against somebody in the middle who passes on all that is said.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <unistd.h>

#include <lockstep/core/error.hpp>
#include <lockstep/core/sha256.hpp>

namespace lockstep::detail {

/// Random bytes that a proof must be about, so that no old one will do.
using Challenge = std::array<std::byte, 16>;

inline Challenge random_challenge() {
    Challenge bytes;
    if (::getentropy(bytes.data(), bytes.size()) != 0)
        throw TransportError(std::string("getentropy: ") + std::strerror(errno));
    return bytes;
}

inline std::uint64_t random_number() {
    const Challenge bytes = random_challenge();
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

enum class Speaker : std::uint8_t { listener = 1, caller = 2 };

/// The first bytes of a payload; zeros for those that it lacks.
inline Challenge challenge_in(std::span<const std::byte> payload) noexcept {
    Challenge bytes{};
    std::copy_n(payload.begin(), (std::min)(payload.size(), bytes.size()), bytes.begin());
    return bytes;
}

/// What only those can compute who know the secret (see secret.hpp).
inline Sha256Digest proof_of(const std::string& secret, Speaker who, std::span<const std::byte> hello,
                             const Challenge& callers, const Challenge& listeners) noexcept {
    const std::array<std::byte, 1> speaker{static_cast<std::byte>(who)};
    return hmac_sha256(std::as_bytes(std::span(secret)),
                       {std::as_bytes(std::span(std::string_view("lockstep 1 "))), speaker, callers, listeners, hello});
}

}  // namespace lockstep::detail
