// SPDX-License-Identifier: MIT
/// @file
/// The timelines of all ranks, on rank 0, on one clock, with what each rank waited for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/collectives/all_gather.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/observe/observed.hpp>
#include <lockstep/observe/timeline.hpp>

namespace lockstep {

/// What all ranks did, by rank; times in nanoseconds from the earliest beginning.
struct MergedTimeline {
    std::vector<std::vector<Event>> ranks;
    std::size_t dropped = 0;  ///< events of all ranks beyond their limits
};

namespace detail {

/// Moves `bytes` from `from` to `to`; every rank calls it.
template <class Link>
void carry(Link& link, int from, int to, std::span<std::byte> bytes) {
    const Call call = link.begin(
        {Operation::all_gather, Reduction::none, ElementType::uint8, from, short_name("timeline"), bytes.size()});
    if (link.rank() == from) link.exchange(call, {to, bytes}, {});
    if (link.rank() == to) link.exchange(call, {}, {from, bytes});
}

/// What rank `peer`'s clock shows when rank 0's shows 0; known on rank 0. The quickest of some questions counts
/// (Cristian, 1989); within its own uncertainty it is 0: ranks of one host have one clock.
template <class Link>
std::int64_t clock_offset(Link& link, int peer) {
    std::int64_t best = 0;
    std::int64_t quickest = (std::numeric_limits<std::int64_t>::max)();
    for (int question = 0; question < 8; ++question) {
        std::int64_t theirs = 0;
        const auto bytes = std::as_writable_bytes(std::span(&theirs, 1));
        const std::int64_t asked = Timeline::now();
        carry(link, 0, peer, bytes);
        theirs = Timeline::now();
        carry(link, peer, 0, bytes);
        const std::int64_t took = Timeline::now() - asked;
        if (took >= quickest) continue;
        quickest = took;
        best = theirs - (asked + took / 2);
    }
    return best <= quickest && -best <= quickest ? 0 : best;
}

/// Messages between two ranks keep their order: the n-th sent is the n-th received. Who came first waited for the other.
inline void find_waits(std::vector<std::vector<Event>>& ranks) {
    using Pair = std::pair<std::size_t, std::size_t>;
    struct Begins {
        std::vector<std::int64_t> times;
        std::size_t next = 0;
    };
    std::map<Pair, Begins> sent;
    std::map<Pair, Begins> received;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        for (const Event& event : ranks[rank]) {
            if (event.kind != EventKind::exchange) continue;
            if (event.to >= 0) sent[{rank, static_cast<std::size_t>(event.to)}].times.push_back(event.begin);
            if (event.from >= 0) received[{static_cast<std::size_t>(event.from), rank}].times.push_back(event.begin);
        }
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        std::vector<Event> waits;
        for (const Event& event : ranks[rank]) {
            if (event.kind != EventKind::exchange) continue;
            std::int64_t until = event.begin;
            std::int32_t late = -1;
            const auto look = [&](std::map<Pair, Begins>& began, Pair pair, std::int32_t peer) {
                Begins& begins = began[pair];
                if (begins.next == begins.times.size()) return;  // Theirs was dropped.
                const std::int64_t theirs = begins.times[begins.next++];
                if (theirs <= until) return;
                until = theirs;
                late = peer;
            };
            if (event.from >= 0) look(sent, {static_cast<std::size_t>(event.from), rank}, event.from);
            if (event.to >= 0) look(received, {rank, static_cast<std::size_t>(event.to)}, event.to);
            if (late < 0) continue;
            Event wait = event;
            wait.kind = EventKind::wait;
            wait.to = -1;
            wait.from = late;
            wait.bytes = wait.received = 0;
            wait.end = (std::min)(until, event.end);
            wait.name = {'w', 'a', 'i', 't'};
            waits.push_back(wait);
        }
        ranks[rank].insert(ranks[rank].end(), waits.begin(), waits.end());
        // An event comes before those inside of it.
        std::stable_sort(ranks[rank].begin(), ranks[rank].end(), [](const Event& one, const Event& other) {
            return one.begin != other.begin ? one.begin < other.begin : one.end > other.end;
        });
    }
}

}  // namespace detail

/// Every rank calls it, with its own timeline; rank 0 gets all of them, the others nothing. Cost: 72 bytes an event to rank
/// 0, and sixteen small messages a rank for its clock. Recording may go on afterwards.
template <Transport Link>
MergedTimeline merge(Link& link, const Timeline& own) {
    std::vector<Event> events = own.events();
    const auto counts = gather(link, static_cast<std::int64_t>(events.size()));
    const auto dropped = gather(link, static_cast<std::int64_t>(own.dropped()));
    MergedTimeline merged;
    for (const std::int64_t each : dropped) merged.dropped += static_cast<std::size_t>(each);
    merged.ranks.resize(static_cast<std::size_t>(link.world_size()));
    for (int rank = 1; rank < link.world_size(); ++rank) {
        const std::int64_t offset = detail::clock_offset(link, rank);
        auto& theirs = link.rank() == rank ? events : merged.ranks[static_cast<std::size_t>(rank)];
        theirs.resize(static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]));
        detail::carry(link, rank, 0, std::as_writable_bytes(std::span(theirs)));
        if (link.rank() != 0) continue;
        for (Event& event : theirs) {
            event.begin -= offset;
            event.end -= offset;
        }
    }
    if (link.rank() != 0) return {};
    merged.ranks[0] = std::move(events);
    std::int64_t start = (std::numeric_limits<std::int64_t>::max)();
    for (const auto& rank : merged.ranks) {
        for (const Event& event : rank) start = (std::min)(start, event.begin);
    }
    for (auto& rank : merged.ranks) {
        for (Event& event : rank) {
            event.begin -= start;
            event.end -= start;
        }
    }
    detail::find_waits(merged.ranks);
    return merged;
}

template <Transport Link>
MergedTimeline merge(Observed<Link>& link) {
    return merge(link.unobserved(), link.timeline());
}

}  // namespace lockstep
