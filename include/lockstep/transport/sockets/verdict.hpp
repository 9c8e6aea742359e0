// SPDX-License-Identifier: MIT
/// @file
/// Who keeps the others waiting? The rank that a late rank waits for is often only waiting itself.
///
/// A rank whose deadline has passed tells rank 0 whom it waits for; rank 0 asks the others, gives them a moment, and
/// follows the chain to the one that has no excuse: it is in no collective, stopped, or cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/call.hpp>
#include <lockstep/core/deadline.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep::detail {

/// What a rank waits for: `peer`, in which call.
struct Waiting {
    int peer = -1;
    std::uint64_t sequence = 0;
    Request request{};
};

/// How long rank 0 waits for answers. The others give it twice as long for its verdict.
inline constexpr Seconds verdict_patience{0.5};

inline std::string waited_text(int rank, Seconds time, const Waiting& waiting) {
    return lockstep::waited_text(rank, time, waiting.peer, waiting.sequence, waiting.request);
}

/// `waits[rank]`: what that rank waits for, if it has said so; `late`, whose deadline of `timeout` has passed, has. The
/// failure names the rank at the end of the chain. Ranks that are in other calls may only be ahead, unless both have the
/// same number, or the chain is a circle: then both sides are named.
inline Failure verdict_on(int late, Seconds timeout, const std::vector<std::optional<Waiting>>& waits) {
    const auto of = [&](int rank) -> const std::optional<Waiting>& { return waits[static_cast<std::size_t>(rank)]; };
    std::string text = waited_text(late, timeout, *of(late));
    const auto disagree = [&](int rank, int other) {
        return Failure{ErrorKind::transport, other,
                       "ranks disagree: rank " + std::to_string(rank) + " is in " +
                           to_string(of(rank)->sequence, of(rank)->request) + ", rank " + std::to_string(other) +
                           " in " + to_string(of(other)->sequence, of(other)->request) + "; " + text};
    };
    std::vector<bool> seen(waits.size());
    std::optional<std::pair<int, int>> differ;  // the first two that are in other calls
    int last = late;
    int next = of(late)->peer;
    for (; next >= 0 && next < static_cast<int>(waits.size()) && of(next); last = next, next = of(next)->peer) {
        if (of(next)->request != of(last)->request && of(next)->sequence == of(last)->sequence) {
            return disagree(last, next);
        }
        if (!differ && of(next)->sequence != of(last)->sequence) differ = {last, next};
        if (seen[static_cast<std::size_t>(next)]) {
            if (differ) return disagree(differ->first, differ->second);
            return {ErrorKind::timeout, next,
                    text + "; these ranks wait for each other: is the connection between rank " + std::to_string(last) +
                        " and rank " + std::to_string(next) + " cut?"};
        }
        seen[static_cast<std::size_t>(next)] = true;
        text += ", which waits for rank " + std::to_string(of(next)->peer);
    }
    return {ErrorKind::timeout, next,
            text + "; rank " + std::to_string(next) + " is in no collective, or stopped, or cut off"};
}

}  // namespace lockstep::detail
