// SPDX-License-Identifier: MIT
/// @file
/// What ranks that see each other's memory tell each other: one board a rank, written by it alone, read by all.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <lockstep/core/concepts.hpp>

namespace lockstep {

/// Where a buffer is, in words that another rank understands.
struct Location {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;  ///< of the segment's file: tells it from a later one of the same number

    friend constexpr bool operator==(const Location&, const Location&) = default;
};

/// Bytes of a message that fits beside the flag that announces it, in the same cache line.
inline constexpr std::size_t tiny_bytes = 56;
/// Bytes that a rank can lay out on its board for all to read.
inline constexpr std::size_t slot_bytes = std::size_t{16} << 10;

/// "I am in my n-th meeting, for this call, and my data lies here." Two cache lines, fetched together.
struct alignas(128) Post {
    std::atomic<std::uint64_t> meeting{0};  ///< written last
    std::array<std::byte, tiny_bytes> tiny{};
    Call call;
    bool reachable = false;          ///< is `location` one that the others can reach?
    bool results_reachable = false;  ///< and `results`?
    Location location;
    Location results;  ///< the same place, usually
};

/// The board of one rank. Posts and slots are used in turn: a rank that reads those of meeting n is done before anyone
/// can reach meeting n + 2.
struct RankBoard {
    std::array<Post, 2> posts;
    /// The last meeting in which this rank has finished with everybody's memory.
    alignas(128) std::atomic<std::uint64_t> finished{0};
    /// This rank has given up: it touches nobody's memory any more.
    std::atomic<bool> withdrawn{false};
    std::uint64_t meetings = 0;       ///< used by the rank itself only
    std::atomic<bool> in_use{false};  ///< by a thread of the rank itself
    alignas(128) std::array<std::array<std::byte, slot_bytes>, 2> slots;
};

/// A transport whose ranks see each other's memory.
/// - `board(rank)`: that rank's board
/// - `locate(bytes)`: where these bytes are for the others, or nothing if they cannot be reached
/// - `reach(peer, location, size)`: the address here of what `peer` located there
/// - `wait_for(call, peer, condition)`: returns when `condition()` holds; throws within the deadline of `call`
/// - `wake(peer)`: rings a peer that sleeps, after something it may wait for was stored with sequential consistency
/// - `failed()`, `raise_failure()`: has this world failed?
/// - `alive(peer)`: may this peer still touch our memory?
template <class Link>
concept SharedAddressSpace = Transport<Link> &&
    requires(Link link, const Call& call, std::span<std::byte> bytes, const Location& location, bool (*condition)()) {
    { link.board(0) } -> std::same_as<RankBoard&>;
    { link.locate(bytes) } -> std::same_as<std::optional<Location>>;
    { link.reach(0, location, std::size_t{}) } -> std::same_as<std::byte*>;
    link.wait_for(call, 0, condition);
    link.wake(0);
    { link.failed() } -> std::same_as<bool>;
    link.raise_failure();
    { link.alive(0) } -> std::same_as<bool>;
};

}  // namespace lockstep
