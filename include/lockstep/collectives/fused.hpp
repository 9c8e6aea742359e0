// SPDX-License-Identifier: MIT
/// @file
/// Reducer Fused: all-reduce for ranks that see each other's memory.
/// Idea: each rank owns a slice. It loads that slice of every rank's buffer, adds in registers in rank order, acts, and
///       stores the result into every buffer. Short buffers are laid out on boards instead, and every rank adds them all.
/// Cost: every byte is read once and written once, by one rank; two waits (one for short buffers), no message.
///       Order of addition: 0 + 1 + 2 + ..., the same bits as Naive and Direct, for all lengths.
/// Choose it when: the transport allows it (Threads, SharedMemory): nothing is faster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/fused_kernel.hpp>
#include <lockstep/core/arithmetic.hpp>
#include <lockstep/core/one_thread.hpp>
#include <lockstep/transport/board.hpp>

namespace lockstep {

namespace detail {

/// One rank's part in one meeting: all ranks post what they are about to do, and see that they agree.
template <SharedAddressSpace Link>
class Meeting {
public:
    Meeting(Link& link, const Call& call)
        : link_(link), call_(call), own_(link.board(link.rank())), number_(++own_.meetings) {}

    /// Where this rank may lay out up to slot_bytes for the others before it posts.
    std::byte* own_slot() noexcept { return own_.slots[parity()].data(); }
    const std::byte* slot(int rank) const noexcept { return link_.board(rank).slots[parity()].data(); }
    const Post& post(int rank) const noexcept { return link_.board(rank).posts[parity()]; }
    Post& own_post() noexcept { return own_.posts[parity()]; }

    /// Posts, and waits until everybody has. @throws what ended this world; the error of ranks that disagree
    void gather() {
        Post& mine = own_post();
        mine.call = call_;
        // Sequentially consistent: whoever withdraws either sees this, or is seen by us to have failed.
        mine.meeting.store(number_);
        wake_all();
        for (int peer = 0; peer < link_.world_size(); ++peer) {
            if (peer == link_.rank()) continue;
            const Post& theirs = post(peer);
            link_.wait_for(call_, peer, [&] { return theirs.meeting.load() >= number_; });
            if (theirs.call.sequence != call_.sequence || theirs.call.request != call_.request) {
                link_.fail(disagreement(link_.rank(), call_, peer, theirs.call.sequence, theirs.call.request));
            }
        }
        if (link_.failed()) link_.raise_failure();
    }

    /// Says that this rank is done with everybody's memory, and waits until everybody is done with its own.
    void part() {
        own_.finished.store(number_);
        wake_all();
        for (int peer = 0; peer < link_.world_size(); ++peer) {
            const RankBoard& theirs = link_.board(peer);
            if (peer != link_.rank()) link_.wait_for(call_, peer, [&] { return theirs.finished.load() >= number_; });
        }
    }

    /// After a failure: waits until nobody can touch this rank's memory any more. Others are computing, or see the
    /// failure themselves: neither takes long.
    void withdraw() noexcept {
        for (int peer = 0; peer < link_.world_size(); ++peer) {
            const RankBoard& theirs = link_.board(peer);
            while (peer != link_.rank() && post(peer).meeting.load() >= number_ && theirs.finished.load() < number_ &&
                   !theirs.withdrawn.load() && link_.alive(peer)) {
                std::this_thread::yield();
            }
        }
    }

    /// This rank touches nobody's memory any more: whoever withdraws need not wait for it. What it threw ends all calls.
    void give_up() {
        if (!link_.failed()) link_.fail(current_failure(link_.rank()));
        own_.withdrawn.store(true);
    }

private:
    std::size_t parity() const noexcept { return number_ % 2; }
    void wake_all() {
        for (int peer = 0; peer < link_.world_size(); ++peer) {
            if (peer != link_.rank()) link_.wake(peer);
        }
    }

    Link& link_;
    const Call& call_;
    RankBoard& own_;
    std::uint64_t number_;
};

}  // namespace detail

class Fused {
public:
    static constexpr const char* name = "fused";

    /// The elementwise reduction over all ranks, on all ranks, with the same bits on each. `owner_acts(piece,
    /// first_element)` is called once for each finished piece; on short buffers by every rank, on the same bits.
    /// @throws ShapeError if lengths differ, TransportError and its kinds; the buffer then holds unspecified values
    template <class Scalar, SharedAddressSpace Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        run<Operator>(link, Operation::all_reduce, buffer, buffer, owner_acts);
    }

    /// The same with the result in `results`, which has as many elements; what `owner_acts` leaves in a piece is what
    /// everybody gets. One pass reduces, acts and hands out. `buffer` stays as it is.
    template <class Scalar, SharedAddressSpace Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce_into(Link& link, std::span<Scalar> buffer, std::span<Scalar> results, Operator = {},
                         Action&& owner_acts = {}) {
        run<Operator>(link, Operation::all_reduce_into, buffer, results, owner_acts);
    }

    /// The first half: afterwards the elements that are `owned` here are reduced; others are unspecified.
    template <class Scalar, SharedAddressSpace Link, class Operator = Sum, class Action = KeepSum>
    void reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        run<Operator>(link, Operation::reduce, buffer, buffer, owner_acts);
    }
    /// The second half: every rank holds the elements of those that lead them.
    template <class Scalar, SharedAddressSpace Link>
    void distribute(Link& link, std::span<Scalar> buffer) {
        KeepSum keep;
        run<Sum>(link, Operation::distribute, buffer, buffer, keep);
    }

    /// Which elements `owner_acts` is called for here: a slice of whole cache lines, or all if the buffer is short or in
    /// memory that others cannot reach. Every rank calls it: they agree by a reduction of one number.
    template <class Scalar, SharedAddressSpace Link>
    std::vector<Shard> owned(Link& link, std::span<Scalar> buffer) {
        if (link.world_size() == 1 || buffer.size_bytes() <= short_bytes) return {{0, buffer.size()}};
        std::int32_t reachable = link.locate(std::as_writable_bytes(buffer)).has_value();
        all_reduce(link, std::span<std::int32_t>(&reachable, 1), Min{});
        return reachable == 0 ? std::vector<Shard>{{0, buffer.size()}} : led(link, buffer);
    }
    template <class Scalar, SharedAddressSpace Link>
    static std::vector<Shard> led(Link& link, std::span<Scalar> buffer) {
        return {slice(buffer, link.rank(), link.world_size())};
    }

private:
    /// Up to here every rank adds everything, for one wait less; beyond, the lines of the boards cost more than that.
    static constexpr std::size_t short_bytes = 1024;

    template <class Operator, class Scalar, class Link, class Action>
    void run(Link& link, Operation operation, std::span<Scalar> buffer, std::span<Scalar> results, Action& owner_acts) {
        const StandardArithmetic mode;
        const detail::OneThread one(link.board(link.rank()).in_use, link.rank());
        const bool hands_out = operation == Operation::distribute;
        const Call call = link.begin({operation, hands_out ? Reduction::none : Operator::kind, element_type_of<Scalar>,
                                      0, short_name(name), buffer.size()});
        if (link.world_size() == 1) return fuse_alone(buffer, results, owner_acts);
        sources_.resize(static_cast<std::size_t>(link.world_size()));
        targets_.resize(sources_.size());
        bool at_owners = hands_out;
        if (buffer.size_bytes() > short_bytes) {
            const Done done = in_place<Operator>(link, call, buffer, results, owner_acts);
            if (done == Done::all) return;
            at_owners |= done == Done::first_half;
        }
        // Too short for two waits, or somebody's memory is its own: all goes over the boards, slot by slot.
        constexpr std::size_t elements = slot_bytes / sizeof(Scalar);
        for (std::size_t at = 0; at == 0 || at < buffer.size(); at += elements) {
            const Shard range{at, (std::min)(elements, buffer.size() - at)};
            if (at_owners) hand_out_on_boards(link, call, results, range);
            else on_boards<Operator>(link, call, buffer, results, range, owner_acts);
        }
    }

    template <class Scalar, class Action>
    static void fuse_alone(std::span<Scalar> buffer, std::span<Scalar> results, Action& owner_acts) {
        if (buffer.empty()) return;
        owner_acts(buffer, std::size_t{0});
        if (results.data() != buffer.data()) std::copy(buffer.begin(), buffer.end(), results.begin());
    }

    /// Slices are whole cache lines, so that no line is written by two ranks.
    template <class Scalar>
    static Shard slice(std::span<Scalar> buffer, int rank, int world_size) {
        constexpr std::size_t line = 64 / sizeof(Scalar);
        const Shard lines = shard_of((buffer.size() + line - 1) / line, rank, world_size);
        const std::size_t begin = (std::min)(lines.begin * line, buffer.size());
        return {begin, (std::min)(lines.end() * line, buffer.size()) - begin};
    }

    /// Every rank lays out its piece, and adds everybody's: one wait, since nobody touches another rank's buffer.
    template <class Operator, class Scalar, class Link, class Action>
    void on_boards(Link& link, const Call& call, std::span<Scalar> buffer, std::span<Scalar> results,
                   const Shard& range, Action& owner_acts) {
        detail::Meeting<Link> meeting(link, call);
        try {
            const auto own = std::as_bytes(buffer.subspan(range.begin, range.size));
            const bool tiny = own.size() <= tiny_bytes;
            if (!own.empty()) {
                std::memcpy(tiny ? meeting.own_post().tiny.data() : meeting.own_slot(), own.data(), own.size());
            }
            meeting.gather();
            for (int rank = 0; rank < link.world_size(); ++rank) {
                const std::byte* const theirs = tiny ? meeting.post(rank).tiny.data() : meeting.slot(rank);
                sources_[static_cast<std::size_t>(rank)] = const_cast<std::byte*>(theirs);
            }
            targets_[0] = reinterpret_cast<std::byte*>(results.data() + range.begin);
            if (range.size == 0) return;
            detail::fuse<Operator>(
                detail::FusedPieces<Scalar>{sources_, std::span(targets_).first(1), 0, range.size, range.begin},
                owner_acts);
        } catch (...) {
            meeting.give_up();
            throw;
        }
    }

    /// Every rank lays out what of the range is in its slice.
    template <class Scalar, class Link>
    void hand_out_on_boards(Link& link, const Call& call, std::span<Scalar> buffer, const Shard& range) {
        detail::Meeting<Link> meeting(link, call);
        const auto part_of = [&](int rank) {
            const Shard all = slice(buffer, rank, link.world_size());
            const std::size_t begin = (std::max)(all.begin, range.begin);
            const std::size_t end = (std::min)(all.end(), range.end());
            return std::as_writable_bytes(buffer.subspan((std::min)(begin, end), end - (std::min)(begin, end)));
        };
        try {
            const auto own = part_of(link.rank());
            if (!own.empty()) std::memcpy(meeting.own_slot(), own.data(), own.size());
            meeting.gather();
            for (int rank = 0; rank < link.world_size(); ++rank) {
                const auto part = part_of(rank);
                if (rank != link.rank() && !part.empty()) std::memcpy(part.data(), meeting.slot(rank), part.size());
            }
        } catch (...) {
            meeting.give_up();
            throw;
        }
    }

    enum class Done { nothing, first_half, all };

    /// Every rank makes one slice of the result, in everybody's results; in its own alone, where that is the first half,
    /// or somebody's are out of reach. Does nothing if a buffer is.
    template <class Operator, class Scalar, class Link, class Action>
    Done in_place(Link& link, const Call& call, std::span<Scalar> buffer, std::span<Scalar> results,
                  Action& owner_acts) {
        detail::Meeting<Link> meeting(link, call);
        const std::optional<Location> location = link.locate(std::as_writable_bytes(buffer));
        const std::optional<Location> place =
            results.data() == buffer.data() ? location : link.locate(std::as_writable_bytes(results));
        meeting.own_post().reachable = location.has_value();
        meeting.own_post().results_reachable = place.has_value();
        meeting.own_post().location = location.value_or(Location{});
        meeting.own_post().results = place.value_or(Location{});
        try {
            meeting.gather();
            bool all_reachable = true;
            bool all_results = true;
            for (int rank = 0; rank < link.world_size(); ++rank) {
                all_reachable &= meeting.post(rank).reachable;
                all_results &= meeting.post(rank).results_reachable;
            }
            if (!all_reachable) return Done::nothing;
            const auto own = static_cast<std::size_t>(link.rank());
            for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
                const Post& post = meeting.post(static_cast<int>(rank));
                const auto there = [&](std::span<Scalar> mine, const Location& at) {
                    return rank == own ? reinterpret_cast<std::byte*>(mine.data())
                                       : link.reach(static_cast<int>(rank), at, mine.size_bytes());
                };
                sources_[rank] = there(buffer, post.location);
                if (post.results == post.location) targets_[rank] = sources_[rank];
                else if (all_results || rank == own) targets_[rank] = there(results, post.results);
            }
            std::span<std::byte* const> from(sources_);
            std::span<std::byte* const> to(targets_);
            if (call.request.operation == Operation::distribute) from = from.subspan(own, 1);
            if (call.request.operation == Operation::reduce || !all_results) to = to.subspan(own, 1);
            const Shard part = slice(buffer, link.rank(), link.world_size());
            if (part.size > 0) {
                detail::fuse<Operator>(detail::FusedPieces<Scalar>{from, to, part.begin, part.end(), 0}, owner_acts);
            }
            meeting.part();
            return all_results ? Done::all : Done::first_half;
        } catch (...) {
            // First what ends everybody's waits: this rank is about to wait for them.
            meeting.give_up();
            meeting.withdraw();
            throw;
        }
    }

    std::vector<std::byte*> sources_;
    std::vector<std::byte*> targets_;
};

}  // namespace lockstep
