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
        const StandardArithmetic mode;
        const detail::OneThread one(link.board(link.rank()).in_use, link.rank());
        const Call call = link.begin(
            {Operation::all_reduce, Operator::kind, element_type_of<Scalar>, 0, short_name(name), buffer.size()});
        if (link.world_size() == 1) return fuse_alone(buffer, owner_acts);
        sources_.resize(static_cast<std::size_t>(link.world_size()));
        targets_.resize(sources_.size());
        if (buffer.size_bytes() <= short_bytes) return on_boards<Operator>(link, call, buffer, 0, owner_acts);
        if (!in_place<Operator>(link, call, buffer, owner_acts)) {
            // Somebody's memory is its own: all goes over the boards, slot by slot.
            constexpr std::size_t elements = slot_bytes / sizeof(Scalar);
            for (std::size_t at = 0; at < buffer.size(); at += elements) {
                const std::size_t size = buffer.size() - at < elements ? buffer.size() - at : elements;
                on_boards<Operator>(link, call, buffer.subspan(at, size), at, owner_acts);
            }
        }
    }

private:
    /// Up to here every rank adds everything, for one wait less; beyond, the lines of the boards cost more than that.
    static constexpr std::size_t short_bytes = 1024;

    template <class Scalar, class Action>
    static void fuse_alone(std::span<Scalar> buffer, Action& owner_acts) {
        if (!buffer.empty()) owner_acts(buffer, std::size_t{0});
    }

    /// Every rank lays out its piece, and adds everybody's: one wait, since nobody touches another rank's buffer.
    template <class Operator, class Scalar, class Link, class Action>
    void on_boards(Link& link, const Call& call, std::span<Scalar> piece, std::size_t first, Action& owner_acts) {
        detail::Meeting<Link> meeting(link, call);
        try {
            const bool tiny = piece.size_bytes() <= tiny_bytes;
            std::byte* const own = tiny ? meeting.own_post().tiny.data() : meeting.own_slot();
            if (!piece.empty()) std::memcpy(own, piece.data(), piece.size_bytes());
            meeting.gather();
            for (int rank = 0; rank < link.world_size(); ++rank) {
                const std::byte* const theirs = tiny ? meeting.post(rank).tiny.data() : meeting.slot(rank);
                sources_[static_cast<std::size_t>(rank)] = const_cast<std::byte*>(theirs);
            }
            targets_[0] = reinterpret_cast<std::byte*>(piece.data());
            if (piece.empty()) return;
            detail::fuse<Operator>(
                detail::FusedPieces<Scalar>{sources_, std::span(targets_).first(1), 0, piece.size(), first},
                owner_acts);
        } catch (...) {
            meeting.give_up();
            throw;
        }
    }

    /// Every rank makes one slice of the result, in everybody's buffer. False, with nothing done, if a buffer is out of
    /// somebody's reach.
    template <class Operator, class Scalar, class Link, class Action>
    bool in_place(Link& link, const Call& call, std::span<Scalar> buffer, Action& owner_acts) {
        detail::Meeting<Link> meeting(link, call);
        const std::optional<Location> location = link.locate(std::as_writable_bytes(buffer));
        meeting.own_post().reachable = location.has_value();
        meeting.own_post().location = location.value_or(Location{});
        try {
            meeting.gather();
            bool all_reachable = true;
            for (int rank = 0; rank < link.world_size(); ++rank) all_reachable &= meeting.post(rank).reachable;
            if (!all_reachable) return false;
            for (int rank = 0; rank < link.world_size(); ++rank) {
                auto* const theirs = rank == link.rank()
                                         ? reinterpret_cast<std::byte*>(buffer.data())
                                         : link.reach(rank, meeting.post(rank).location, buffer.size_bytes());
                sources_[static_cast<std::size_t>(rank)] = theirs;
                targets_[static_cast<std::size_t>(rank)] = theirs;
            }
            // Slices are whole cache lines, so that no line is written by two ranks.
            constexpr std::size_t line = 64 / sizeof(Scalar);
            const Shard lines = shard_of((buffer.size() + line - 1) / line, link.rank(), link.world_size());
            const std::size_t begin = (std::min)(lines.begin * line, buffer.size());
            const std::size_t end = (std::min)(lines.end() * line, buffer.size());
            if (begin < end) {
                detail::fuse<Operator>(detail::FusedPieces<Scalar>{sources_, targets_, begin, end, 0}, owner_acts);
            }
            meeting.part();
        } catch (...) {
            // First what ends everybody's waits: this rank is about to wait for them.
            meeting.give_up();
            meeting.withdraw();
            throw;
        }
        return true;
    }

    std::vector<std::byte*> sources_;
    std::vector<std::byte*> targets_;
};

}  // namespace lockstep
