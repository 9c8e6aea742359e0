// SPDX-License-Identifier: MIT
/// @file
/// The executor runs any schedule over any transport: it turns chunks into spans and steps into exchanges.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/collectives/owner_action.hpp>
#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/arithmetic.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/schedule.hpp>

namespace lockstep {

namespace detail {

/// Contributions that wait until all have come, to be added in the order of ranks.
class Kept {
public:
    void clear() noexcept {
        entries_.clear();
        used_ = 0;
    }

    /// Room for the bytes of a chunk; they stay there until `add_to` or `clear`.
    std::span<std::byte> room_for(const Transfer& transfer, std::size_t bytes) {
        // Growing would move what is here, but what is here is addressed by its offset.
        if (used_ + bytes > memory_.size()) memory_.resize(used_ + bytes);
        entries_.push_back({transfer.peer, transfer.first_chunk, used_});
        used_ += bytes + (alignment - bytes % alignment) % alignment;
        return std::span(memory_).subspan(entries_.back().offset, bytes);
    }

    /// `target`, the contribution of `rank`, becomes the combination of it and of all that was kept for `chunk`.
    void add_to(std::span<std::byte> target, int chunk, int rank, Combine combine) {
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.peer < b.peer; });
        // Piece by piece, so that sums stay in the cache.
        std::array<std::byte, 8192> sum alignas(64);
        for (std::size_t at = 0; at < target.size(); at += sum.size()) {
            const std::size_t bytes = (std::min)(sum.size(), target.size() - at);
            std::byte* const own = target.data() + at;
            bool empty = true;
            const auto add = [&](const std::byte* next) {
                if (empty) std::memcpy(sum.data(), next, bytes);
                else combine(sum.data(), next, bytes);
                empty = false;
            };
            bool added_own = false;
            for (const Entry& entry : entries_) {
                if (entry.chunk != chunk) continue;
                if (!added_own && entry.peer > rank) {
                    add(own);
                    added_own = true;
                }
                add(memory_.data() + entry.offset + at);
            }
            if (!added_own) add(own);
            std::memcpy(own, sum.data(), bytes);
        }
        std::erase_if(entries_, [chunk](const Entry& entry) { return entry.chunk == chunk; });
        if (entries_.empty()) used_ = 0;
    }

private:
    static constexpr std::size_t alignment = 64;
    struct Entry {
        int peer;
        int chunk;
        std::size_t offset;
    };

    std::vector<Entry> entries_;
    std::vector<std::byte> memory_;
    std::size_t used_ = 0;
};

}  // namespace detail

/// Runs `Shape` over a transport. Messages and bytes are those of `counts_of<Shape>`, whatever the length: zero
/// elements still send empty messages, so that ranks stay in step and disagreements are found.
///
/// Long buffers are reduced in segments (`segments_of<Shape>`); owners own their chunks of each.
///
/// Order of addition is that of the schedule: the same bits on all ranks, in every run and over every transport.
/// Errors: those of the transport, on every rank; the buffer then holds unspecified values.
/// Allocates only the first time, for the schedule and for what steps stage or keep: up to n bytes.
template <Topology Shape>
class Executor {
public:
    /// Both halves: afterwards every rank holds the reduction of all ranks' buffers, as the owners left it.
    /// `owner_acts(piece, first_element)` is called between the halves on each finished piece that this rank owns.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        const Call call = begin<Scalar>(link, Operation::all_reduce, Operator::kind, buffer.size());
        for_each_segment(link, buffer, [&](std::span<Scalar> segment, std::size_t first) {
            run_half(link, call, segment, Half::reduce, combine_of<Operator, Scalar>());
            act(link, segment, first, owner_acts);
            run_half(link, call, segment, Half::distribute, nullptr);
        });
    }

    /// The same with the result in `results`, which has as many elements: `buffer` is unspecified afterwards. What owners
    /// leave in a piece is what everybody gets, so that they may step parameters and hand these out, at no cost in bytes.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce_into(Link& link, std::span<Scalar> buffer, std::span<Scalar> results, Operator = {},
                         Action&& owner_acts = {}) {
        const Call call = begin<Scalar>(link, Operation::all_reduce_into, Operator::kind, buffer.size());
        const auto act_and_copy = [&](std::span<Scalar> piece, std::size_t first) {
            owner_acts(piece, first);
            std::copy(piece.begin(), piece.end(), results.begin() + static_cast<std::ptrdiff_t>(first));
        };
        for_each_segment(link, buffer, [&](std::span<Scalar> segment, std::size_t first) {
            run_half(link, call, segment, Half::reduce, combine_of<Operator, Scalar>());
            act(link, segment, first, act_and_copy);
            run_half(link, call, results.subspan(first, segment.size()), Half::distribute, nullptr);
        });
    }

    /// Which elements of such a buffer this rank owns after the first half, ascending: what `owner_acts` is called for.
    template <class Scalar, Transport Link>
    static std::vector<Shard> owned(Link& link, std::span<Scalar> buffer) {
        return pieces(link, buffer, [&](int chunk) { return Shape::owns(link.rank(), link.world_size(), chunk); });
    }
    /// Of several ranks that own an element the lowest leads: these are the elements that this one does.
    template <class Scalar, Transport Link>
    static std::vector<Shard> led(Link& link, std::span<Scalar> buffer) {
        return pieces(link, buffer, [&](int chunk) {
            int lowest = 0;
            while (!Shape::owns(lowest, link.world_size(), chunk)) ++lowest;
            return lowest == link.rank();
        });
    }

    /// The first half: afterwards owners hold finished pieces; the rest of the buffer is unspecified.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        const Call call = begin<Scalar>(link, Operation::reduce, Operator::kind, buffer.size());
        for_each_segment(link, buffer, [&](std::span<Scalar> segment, std::size_t first) {
            run_half(link, call, segment, Half::reduce, combine_of<Operator, Scalar>());
            act(link, segment, first, owner_acts);
        });
    }

    /// The second half: afterwards every rank holds the pieces of their owners.
    template <class Scalar, Transport Link>
    void distribute(Link& link, std::span<Scalar> buffer) {
        const Call call = begin<Scalar>(link, Operation::distribute, Reduction::none, buffer.size());
        for_each_segment(link, buffer, [&](std::span<Scalar> segment, std::size_t) {
            run_half(link, call, segment, Half::distribute, nullptr);
        });
    }

    /// One half of a call that the caller has begun, with ranks renumbered so that `root` plays the part of rank 0.
    template <class Scalar, Transport Link>
    void run_half(Link& link, const Call& call, std::span<Scalar> buffer, Half half, Combine combine, int root = 0) {
        run_bytes(link, call, std::as_writable_bytes(buffer), half, combine, root);
    }

    /// Numbers a call on the transport; every rank must begin the same one.
    template <class Scalar, Transport Link>
    static Call begin(Link& link, Operation operation, Reduction reduction, std::size_t elements, int root = 0) {
        return link.begin(
            {operation, reduction, element_type_of<Scalar>, root, short_name(Shape::name), std::uint64_t{elements}});
    }

private:
    /// The same for elements of any type: compiled once for each transport.
    template <class Link>
    void run_bytes(Link& link, const Call& call, std::span<std::byte> buffer, Half half, Combine combine, int root) {
        const StandardArithmetic mode;
        const std::size_t element_bytes = size_of(call.request.type);
        const std::size_t elements = buffer.size() / element_bytes;
        const auto bytes_of = [&](const Shard& range) {
            return buffer.subspan(range.begin * element_bytes, range.size * element_bytes);
        };
        const int world_size = link.world_size();
        const int chunks = Shape::chunks(world_size);
        const int place = (link.rank() - root + world_size) % world_size;
        kept_.clear();
        for (const Step& step : schedule(half, place, world_size)) {
            const Shard sent = elements_of(step.send, elements, chunks);
            const Shard received = elements_of(step.receive, elements, chunks);
            const std::span<std::byte> target = bytes_of(received);
            if (step.fold == Fold::add_kept) {
                kept_.add_to(target, step.receive.first_chunk, place, combine);
                continue;
            }
            std::span<const std::byte> outgoing = bytes_of(sent);
            const bool keeps = step.fold == Fold::keep && step.receive.any();
            if (!keeps && sent.begin < received.end() && received.begin < sent.end()) {
                // What is sent is what was there at first, though the arriving bytes fall into the same place.
                staging_.assign(outgoing.begin(), outgoing.end());
                outgoing = staging_;
            }
            link.exchange(call, Outgoing{peer(step.send, root, world_size), outgoing},
                          Incoming{peer(step.receive, root, world_size),
                                   keeps ? kept_.room_for(step.receive, target.size()) : target,
                                   step.fold == Fold::add ? combine : nullptr});
        }
    }

    static int peer(const Transfer& transfer, int root, int world_size) {
        return transfer.any() ? (transfer.peer + root) % world_size : -1;
    }

    /// `work(segment, its first element)`; the segments are those of `segments_of<Shape>`.
    template <class Scalar, class Link, class Work>
    static void for_each_segment(const Link& link, std::span<Scalar> buffer, const Work& work) {
        const int segments = segments_of<Shape>(link.world_size(), buffer.size());
        for (int segment = 0; segment < segments; ++segment) {
            const Shard place = shard_of(buffer.size(), segment, segments);
            work(buffer.subspan(place.begin, place.size), place.begin);
        }
    }

    /// `visit(piece)` for the chunks of a segment that are `wanted(chunk)`. Neighbours are one piece: fewer calls, longer
    /// loops.
    template <class Wanted, class Visit>
    static void for_each_piece(int world_size, std::size_t elements, const Wanted& wanted, const Visit& visit) {
        const int chunks = Shape::chunks(world_size);
        for (int chunk = 0; chunk < chunks;) {
            const int first = chunk;
            while (chunk < chunks && wanted(chunk)) ++chunk;
            const Shard piece = elements_of({0, first, chunk - first}, elements, chunks);
            if (piece.size > 0) visit(piece);
            if (chunk == first) ++chunk;
        }
    }
    template <class Scalar, class Link, class Wanted>
    static std::vector<Shard> pieces(const Link& link, std::span<Scalar> buffer, const Wanted& wanted) {
        std::vector<Shard> found;
        for_each_segment(link, buffer, [&](std::span<Scalar> segment, std::size_t first) {
            for_each_piece(link.world_size(), segment.size(), wanted, [&](const Shard& piece) {
                found.push_back({first + piece.begin, piece.size});
            });
        });
        return found;
    }

    /// `segment` begins at element `first_element` of the buffer.
    template <class Scalar, class Link, class Action>
    static void act(const Link& link, std::span<Scalar> segment, std::size_t first_element, Action& owner_acts) {
        const StandardArithmetic mode;
        for_each_piece(
            link.world_size(), segment.size(),
            [&](int chunk) { return Shape::owns(link.rank(), link.world_size(), chunk); },
            [&](const Shard& piece) {
                owner_acts(segment.subspan(piece.begin, piece.size), first_element + piece.begin);
            });
    }

    /// The steps of one half, computed once: of some topologies that is work, and it would allocate.
    const std::vector<Step>& schedule(Half half, int place, int world_size) {
        Steps& steps = half == Half::reduce ? reduce_ : distribute_;
        if (steps.place != place || steps.world_size != world_size) {
            steps = {place, world_size, {}};
            steps_of<Shape>(half, place, world_size, [&](const Step& step) { steps.list.push_back(step); });
        }
        return steps.list;
    }

    struct Steps {
        int place = -1;
        int world_size = 0;
        std::vector<Step> list{};
    };

    Steps reduce_;
    Steps distribute_;
    std::vector<std::byte> staging_;
    detail::Kept kept_;
};

/// The reducer that a policy stands for: a topology is run by the executor, anything else is a reducer itself.
template <class Strategy>
struct ReducerOf {
    using type = Strategy;
};
template <Topology Shape>
struct ReducerOf<Shape> {
    using type = Executor<Shape>;
};
template <class Strategy>
using reducer_of = typename ReducerOf<Strategy>::type;

namespace detail {

/// Does rank r own chunk r, of as many chunks as there are ranks, and nothing else?
template <Topology Shape>
constexpr bool ranks_own_their_shards(int world_size) {
    return Shape::chunks(world_size) == world_size && owners_are<Shape>(world_size, [](int chunk) { return chunk; });
}
template <Topology Shape>
constexpr void check_ranks_own_their_shards() {
    static_assert(ranks_own_their_shards<Shape>(3) && ranks_own_their_shards<Shape>(8),
                  "shards need a topology in which every rank owns its own, as Ring, Direct and Circulant");
}

template <class Strategy>
concept ServesOneTransport = Strategy::serves_one_transport;

/// This thread's reducer for calls that bring none of their own: what it has allocated serves the next call too.
template <class Strategy>
reducer_of<Strategy>& shared_reducer() {
    static_assert(!ServesOneTransport<Strategy>,
                  "this reducer adapts to one transport: make an object of it and call its all_reduce");
    static thread_local reducer_of<Strategy> reducer;
    return reducer;
}

}  // namespace detail

}  // namespace lockstep
