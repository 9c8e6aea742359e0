// SPDX-License-Identifier: MIT
/// @file
/// Transport Threads: ranks are threads of one process.
/// Idea: a sender posts the address of its bytes; the receiver folds them straight from the sender's memory.
/// Cost: no copy; one compare-and-swap, one or two cache lines between cores and no system call a message while both
///       spin; a wake-up (microseconds) when one sleeps.
/// Choose it when: one machine is enough. It is also the easiest to debug.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <lockstep/core/concepts.hpp>
#include <lockstep/core/one_thread.hpp>
#include <lockstep/core/report.hpp>
#include <lockstep/transport/board.hpp>
#include <lockstep/transport/doorbell.hpp>

namespace lockstep {

struct ThreadsOptions {
    /// How long one collective may take before a missing rank becomes a TimeoutError.
    Seconds timeout{60};
    /// After how long a rank says which one it waits for. It is no error yet.
    Seconds slow_after{10};
    /// To whom it says so.
    void (*report)(const std::string& line) = report_to_stderr;
};

namespace detail {

/// What the ranks of one world share.
class ThreadWorld {
public:
    ThreadWorld(int world_size, ThreadsOptions settings)
        : options(settings),
          size(world_size),
          spins(spins_for(world_size)),
          ranks(static_cast<std::size_t>(world_size)),
          boxes_(static_cast<std::size_t>(world_size) * static_cast<std::size_t>(world_size)) {}

    /// Where `sender` leaves word for `receiver`. Only the sender moves it from free to posted, only the receiver
    /// from posted to taking and back to free; the sender may take a posted message back.
    struct alignas(64) Mailbox {
        enum State : int { free, posted, taking };
        std::atomic<int> state{free};
        Call call;
        std::span<const std::byte> bytes;
    };

    struct alignas(128) Rank {
        Doorbell bell;
        std::atomic<bool> left{false};
        std::atomic<int> waits_for{-1};  ///< while it sleeps
        // Used by the rank itself only: on a line of their own, since all others watch the ones above.
        alignas(128) std::uint64_t calls = 0;
        Traffic traffic;
        RankBoard board;
    };

    Mailbox& box(int sender, int receiver) { return boxes_[static_cast<std::size_t>(sender * size + receiver)]; }
    Rank& rank(int index) { return ranks[static_cast<std::size_t>(index)]; }

    bool failed() const noexcept { return failed_.load(); }

    /// Keeps the first failure and wakes everybody.
    void fail(Failure failure) {
        {
            const std::lock_guard lock(mutex_);
            if (!failed_.load()) {
                failure_ = std::move(failure);
                failed_.store(true);
            }
        }
        ring_all();
    }

    void leave(int leaver) {
        rank(leaver).left.store(true);
        ring_all();
    }

    [[noreturn]] void raise_failure() {
        const std::lock_guard lock(mutex_);
        raise(failure_);
    }

    ThreadsOptions options;
    int size;
    int spins;
    std::vector<Rank> ranks;

private:
    void ring_all() {
        for (Rank& each : ranks) each.bell.ring();
    }

    std::vector<Mailbox> boxes_;
    std::mutex mutex_;
    std::atomic<bool> failed_{false};
    Failure failure_;
};

}  // namespace detail

/// A handle of one rank; copies are the same rank. Made by `Threads::world`, usually inside `run_threads`.
class Threads {
public:
    /// One handle a rank. @throws ConfigurationError if `world_size` is less than one
    static std::vector<Threads> world(int world_size, ThreadsOptions options = {}) {
        if (world_size < 1) {
            throw ConfigurationError("world_size must be at least 1, not " + std::to_string(world_size));
        }
        const auto shared = std::make_shared<detail::ThreadWorld>(world_size, options);
        std::vector<Threads> handles;
        for (int rank = 0; rank < world_size; ++rank) handles.push_back(Threads(shared, rank));
        return handles;
    }

    int rank() const noexcept { return rank_; }
    int world_size() const noexcept { return world_->size; }
    Traffic traffic() const noexcept { return world_->rank(rank_).traffic; }

    /// @throws the failure that ended this world, if it has failed
    Call begin(const Request& request) {
        if (world_->failed()) world_->raise_failure();
        return {world_->rank(rank_).calls++, request, Deadline::soon_after(world_->options.timeout)};
    }

    /// @throws ShapeError or TransportError if the peers are in another call; TimeoutError naming the rank waited
    ///         for; PeerLost if it has left; whatever another rank failed with
    void exchange(const Call& call, Outgoing outgoing, Incoming incoming) {
        const detail::OneThread one(world_->rank(rank_).board.in_use, rank_);
        if (outgoing.peer >= 0) post(call, outgoing);
        try {
            if (incoming.peer >= 0) take(call, incoming);
            if (outgoing.peer >= 0) await(call, outgoing.peer, rank_, outgoing.peer, Mailbox::free);
        } catch (...) {
            // Nobody may read our memory once this rank unwinds.
            if (outgoing.peer >= 0) withdraw(outgoing.peer);
            throw;
        }
    }

    /// Every call under way and to come, on every rank, throws `failure`. The first failure stays.
    void fail(Failure failure) { world_->fail(std::move(failure)); }

    /// Says that this rank makes no more calls: a rank that still waits for it gets PeerLost at once.
    void leave() { world_->leave(rank_); }

    // SharedAddressSpace (transport/board.hpp): an address means the same to every thread.
    RankBoard& board(int rank) noexcept { return world_->rank(rank).board; }
    static std::optional<Location> locate(std::span<std::byte> bytes) noexcept {
        return Location{.offset = reinterpret_cast<std::uintptr_t>(bytes.data())};
    }
    static std::byte* reach(int, const Location& location, std::size_t) noexcept {
        return reinterpret_cast<std::byte*>(location.offset);
    }
    template <class Condition>
    void wait_for(const Call& call, int peer, const Condition& condition) {
        const auto& left = world_->rank(peer).left;
        const auto ended = [&] { return condition() || world_->failed() || left.load(); };
        const bool in_time = detail::Doorbell::spin(ended, world_->spins) || sleep(call, peer, ended);
        if (world_->failed()) world_->raise_failure();
        if (!condition()) lose(call, peer, in_time);
    }
    void wake(int peer) { world_->rank(peer).bell.ring(); }
    bool failed() const noexcept { return world_->failed(); }
    [[noreturn]] void raise_failure() { world_->raise_failure(); }
    static constexpr bool alive(int) noexcept { return true; }

private:
    using Mailbox = detail::ThreadWorld::Mailbox;

    Threads(std::shared_ptr<detail::ThreadWorld> world, int rank) : world_(std::move(world)), rank_(rank) {}

    void post(const Call& call, const Outgoing& outgoing) {
        Mailbox& box = world_->box(rank_, outgoing.peer);
        box.call = call;
        box.bytes = outgoing.bytes;
        box.state.store(Mailbox::posted);
        world_->rank(outgoing.peer).bell.ring();
        Traffic& traffic = world_->rank(rank_).traffic;
        ++traffic.messages;
        traffic.bytes += outgoing.bytes.size();
    }

    void take(const Call& call, const Incoming& incoming) {
        await(call, incoming.peer, incoming.peer, rank_, Mailbox::posted);
        Mailbox& box = world_->box(incoming.peer, rank_);
        int expected = Mailbox::posted;
        if (!box.state.compare_exchange_strong(expected, Mailbox::taking)) {
            world_->raise_failure();  // The sender took it back, which it does only on failure.
        }
        const bool agreed = box.call.sequence == call.sequence && box.call.request == call.request &&
                            box.bytes.size() == incoming.bytes.size();
        Failure failure;
        if (!agreed) {
            failure = disagreement(rank_, call, incoming.peer, box.call.sequence, box.call.request);
        } else if (incoming.combine != nullptr) {
            incoming.combine(incoming.bytes.data(), box.bytes.data(), box.bytes.size());
        } else if (!box.bytes.empty()) {
            std::memmove(incoming.bytes.data(), box.bytes.data(), box.bytes.size());
        }
        box.state.store(Mailbox::free);
        world_->rank(incoming.peer).bell.ring();
        if (!agreed) {
            fail(failure);
            world_->raise_failure();
        }
    }

    /// Waits until the box from `sender` to `receiver` is in `state`; `peer` is the one waited for.
    void await(const Call& call, int peer, int sender, int receiver, int state) {
        const Mailbox& box = world_->box(sender, receiver);
        wait_for(call, peer, [&] { return box.state.load() == state; });
    }

    /// Until `ended()`; false if the deadline passed first.
    template <class Condition>
    bool sleep(const Call& call, int peer, const Condition& ended) {
        auto& own = world_->rank(rank_);
        const Deadline slow_at = Deadline::after(world_->options.slow_after);
        own.waits_for.store(peer);
        bool in_time = own.bell.sleep(ended, earlier(slow_at, call.deadline));
        if (!in_time && !call.deadline.passed()) {
            world_->options.report(waited_text(rank_, world_->options.slow_after, peer, call));
            in_time = own.bell.sleep(ended, call.deadline);
        }
        own.waits_for.store(-1);
        return in_time;
    }

    /// `peer` did not do what this rank waits for: it has left, or time is up.
    [[noreturn]] void lose(const Call& call, int peer, bool left) {
        if (left) {
            fail({ErrorKind::peer_lost, peer,
                  "rank " + std::to_string(peer) + " has left; rank " + std::to_string(rank_) + " waits for it in " +
                      to_string(call)});
        } else {
            std::string text = waited_text(rank_, world_->options.timeout, peer, call);
            // Whoever is waited for may only be waiting itself.
            int blamed = peer;
            for (int step = 0; step < world_->size; ++step) {
                const int next = world_->rank(blamed).waits_for.load();
                if (next < 0 || next == rank_) break;
                blamed = next;
                text += ", which waits for rank " + std::to_string(blamed);
            }
            fail({ErrorKind::timeout, blamed, text});
        }
        world_->raise_failure();
    }

    void withdraw(int receiver) noexcept {
        std::atomic<int>& state = world_->box(rank_, receiver).state;
        int expected = Mailbox::posted;
        if (state.compare_exchange_strong(expected, Mailbox::free)) return;
        // The receiver is folding our bytes this moment: it needs no one to end that.
        while (state.load() == Mailbox::taking) std::this_thread::yield();
    }

    std::shared_ptr<detail::ThreadWorld> world_;
    int rank_;
};

}  // namespace lockstep
