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

/// `rank 1 has waited 10 s for rank 2 in all_reduce #118 (...)`
inline std::string waited_text(int rank, Seconds time, const Waiting& waiting) {
    return "rank " + std::to_string(rank) + " has waited " + to_string(time) + " for rank " +
           std::to_string(waiting.peer) + " in " + to_string(waiting.sequence, waiting.request);
}

/// `waits[rank]`: what that rank waits for, if it has said so; `late`, whose deadline of `timeout` has passed, has. The
/// failure names the rank at the end of the chain; if the chain is a circle, both sides of a disagreement in it.
inline Failure verdict_on(int late, Seconds timeout, const std::vector<std::optional<Waiting>>& waits) {
    const auto of = [&](int rank) -> const std::optional<Waiting>& { return waits[static_cast<std::size_t>(rank)]; };
    std::string text = waited_text(late, timeout, *of(late));
    std::vector<bool> seen(waits.size());
    int last = late;
    int next = of(late)->peer;
    for (; next >= 0 && next < static_cast<int>(waits.size()) && of(next); last = next, next = of(next)->peer) {
        const auto& before = *of(last);
        const auto& here = *of(next);
        if (here.sequence != before.sequence || here.request != before.request) {
            return {ErrorKind::transport, next,
                    "ranks disagree: rank " + std::to_string(last) + " is in " +
                        to_string(before.sequence, before.request) + ", rank " + std::to_string(next) + " in " +
                        to_string(here.sequence, here.request) + "; " + text};
        }
        if (seen[static_cast<std::size_t>(next)]) {
            return {ErrorKind::timeout, next,
                    text + "; these ranks wait for each other: is the connection between rank " + std::to_string(last) +
                        " and rank " + std::to_string(next) + " cut?"};
        }
        seen[static_cast<std::size_t>(next)] = true;
        text += ", which waits for rank " + std::to_string(here.peer);
    }
    return {ErrorKind::timeout, next,
            text + "; rank " + std::to_string(next) + " is in no collective, or stopped, or cut off"};
}

}  // namespace lockstep::detail
