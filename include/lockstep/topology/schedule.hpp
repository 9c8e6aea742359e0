// SPDX-License-Identifier: MIT
/// @file
/// A topology's steps as a value: one list a rank, for one half. Counting, proving and drawing start from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/core/concepts.hpp>

namespace lockstep {

/// The two halves of an all-reduce.
enum class Half { reduce, distribute };

/// `steps[rank]`: what that rank does, in order.
using Schedule = std::vector<std::vector<Step>>;

/// Calls `emit(Step)` for each step of `rank` in `half`.
template <Topology Shape, class Emit>
constexpr void steps_of(Half half, int rank, int world_size, Emit&& emit) {
    if (half == Half::reduce) Shape::reduce(rank, world_size, emit);
    else Shape::distribute(rank, world_size, emit);
}

template <Topology Shape>
constexpr Schedule schedule_of(Half half, int world_size) {
    Schedule schedule(static_cast<std::size_t>(world_size), std::vector<Step>{});
    for (int rank = 0; rank < world_size; ++rank) {
        auto& steps = schedule[static_cast<std::size_t>(rank)];
        steps_of<Shape>(half, rank, world_size, [&steps](const Step& step) { steps.push_back(step); });
    }
    return schedule;
}

/// The elements of a buffer of `elements` that a transfer moves, when the buffer is cut into `chunks` chunks.
constexpr Shard elements_of(const Transfer& transfer, std::size_t elements, int chunks) {
    if (transfer.chunk_count == 0) return {};
    const Shard first = shard_of(elements, transfer.first_chunk, chunks);
    const Shard last = shard_of(elements, transfer.first_chunk + transfer.chunk_count - 1, chunks);
    return {first.begin, last.end() - first.begin};
}

/// Has every chunk one owner, `owner_of(chunk)`, for this world size?
template <Topology Shape, class OwnerOf>
constexpr bool owners_are(int world_size, const OwnerOf& owner_of) {
    for (int chunk = 0; chunk < Shape::chunks(world_size); ++chunk) {
        for (int rank = 0; rank < world_size; ++rank) {
            if (Shape::owns(rank, world_size, chunk) != (rank == owner_of(chunk))) return false;
        }
    }
    return true;
}

/// Longer chunks are cut: an all-reduce then runs in segments, one after the other, so that what the first half has
/// summed is still in the cache when the second half hands it out.
inline constexpr std::size_t longest_chunk = std::size_t{1} << 18;  // elements

/// How many segments that makes of a buffer. Segment s is `shard_of(elements, s, segments)`; an empty buffer is one.
template <Topology Shape>
constexpr int segments_of(int world_size, std::size_t elements) {
    const std::size_t longest = longest_chunk * static_cast<std::size_t>(Shape::chunks(world_size));
    const std::size_t segments = (elements + longest - 1) / longest;
    return segments > 0 ? static_cast<int>(segments) : 1;
}

/// What one rank does in one all-reduce.
struct Counts {
    std::uint64_t rounds = 0;  ///< steps, each a send, a receive, or both at once
    std::uint64_t messages_sent = 0;
    std::uint64_t elements_sent = 0;
    std::uint64_t elements_combined = 0;  ///< additions

    friend constexpr bool operator==(const Counts&, const Counts&) = default;
};

/// Counts of `rank` for an all-reduce of `elements` elements, from the schedule alone.
template <Topology Shape>
constexpr Counts counts_of(int rank, int world_size, std::size_t elements) {
    Counts counts;
    const int chunks = Shape::chunks(world_size);
    const auto segments = static_cast<std::uint64_t>(segments_of<Shape>(world_size, elements));
    // Segments have one length, or that and one more: `longer` of them.
    const std::uint64_t longer = elements % segments;
    const auto of_each = [&](const Transfer& transfer) {
        const std::size_t least = elements_of(transfer, elements / segments, chunks).size;
        if (longer == 0) return segments * least;
        return (segments - longer) * least + longer * elements_of(transfer, elements / segments + 1, chunks).size;
    };
    const auto count = [&](const Step& step) {
        if (step.send.any() || step.receive.any()) counts.rounds += segments;
        if (step.send.any()) {
            counts.messages_sent += segments;
            counts.elements_sent += of_each(step.send);
        }
        if (step.receive.any() && step.fold != Fold::copy) counts.elements_combined += of_each(step.receive);
    };
    Shape::reduce(rank, world_size, count);
    Shape::distribute(rank, world_size, count);
    return counts;
}

}  // namespace lockstep
