// SPDX-License-Identifier: MIT
/// @file
/// What a schedule is made of: a step says which chunks go where. The words that topologies and executors share.
#pragma once

#include <lockstep/core/config.hpp>

namespace lockstep {

/// What happens to arriving chunks: they replace what is there, are combined with it, or are kept aside under their
/// sender's rank. `add_kept` moves nothing (its `receive` names chunks, but no peer): it combines these chunks and all that
/// was kept for them, in the order of ranks, whatever came first.
enum class Fold { copy, add, keep, add_kept };

/// Chunks `first_chunk` to `first_chunk + chunk_count - 1`, to or from `peer`. Without a peer: nothing.
struct Transfer {
    int peer = -1;
    int first_chunk = 0;
    int chunk_count = 0;

    constexpr bool any() const noexcept { return peer >= 0; }
    friend constexpr bool operator==(const Transfer&, const Transfer&) = default;
};

/// One step of one rank. Both transfers are under way at once (full duplex); the step ends when both have ended.
/// What is sent is what the chunks held when the step began, even where the received chunks overlap them.
struct Step {
    Transfer send{};
    Transfer receive{};
    Fold fold = Fold::copy;

    friend constexpr bool operator==(const Step&, const Step&) = default;
};

}  // namespace lockstep
