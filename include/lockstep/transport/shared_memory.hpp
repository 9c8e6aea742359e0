// SPDX-License-Identifier: MIT
/// @file
/// Transport SharedMemoryTransport: ranks are processes of one host that see each other's memory.
/// Idea: a memory file with a board for each rank, mapped by all; buffers of the storage policy SharedMemory are mapped by
///       the others when they first meet them. Sockets stay for everything else, and tell who has died.
/// Cost: as Threads, once buffers are mapped; buffers elsewhere are copied through the boards.
/// Choose it when: workers on one host must not share a process. Use Fused with it; topologies run over its sockets.
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lockstep/storage/shared_memory.hpp>
#include <lockstep/transport/board.hpp>
#include <lockstep/transport/doorbell.hpp>
#include <lockstep/transport/sockets.hpp>

namespace lockstep {

namespace detail {

/// What one rank has in the memory that all see.
struct alignas(128) HostRank {
    RankBoard board;
    std::atomic<pid_t> process{0};
    alignas(64) std::atomic<bool> sleeping{false};
    sem_t bell;
};

/// The beginning of that memory: whether, and why, this world has failed.
struct alignas(128) HostWorld {
    enum State : int { well, failing, failed };

    std::uint64_t nonce = 0;
    std::atomic<int> state{well};
    ErrorKind kind{};
    int rank = -1;
    std::array<char, 1000> message{};
};

/// A memory file of another process of this host, mapped here: at least `bytes` of it, or all.
/// @throws TransportError if what stands there is no such file, or not the one of this inode
inline SharedMapping map_of_process(int process, int descriptor, std::size_t bytes, std::uint64_t inode = 0) {
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    const Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
    struct stat status {};
    if (!opened || ::fstat(opened.get(), &status) != 0) {
        throw TransportError("cannot map memory of process " + std::to_string(process) + ": " +
                             system_text(path, errno) + " (are all ranks on one host, and of one user?)");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (!S_ISREG(status.st_mode) || size < bytes || (inode != 0 && status.st_ino != inode)) {
        throw TransportError(path + " is not the memory that a peer has named (are all ranks on one host?)");
    }
    return SharedMapping(opened.get(), bytes == 0 ? size : bytes);
}

/// This process's view of the memory that all ranks see.
class HostMemory {
public:
    explicit HostMemory(Sockets& link) : rank_(link.rank()), spins_(spins_for(link.world_size())) {
        const auto ranks = static_cast<std::size_t>(link.world_size());
        const std::size_t bytes = sizeof(HostWorld) + ranks * sizeof(HostRank);
        // Rank 0's process, descriptor, and a number that nobody else's memory begins with.
        std::array<std::uint64_t, 3> where{};
        if (rank_ == 0) {
            mapping_ = SharedMapping(bytes);
            new (mapping_.address()) HostWorld;
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                auto* const made = new (&this->rank(static_cast<int>(rank))) HostRank;
                if (::sem_init(&made->bell, 1, 0) != 0) throw TransportError(system_text("sem_init", errno));
            }
            const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
            where = {static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(mapping_.descriptor()),
                     static_cast<std::uint64_t>(now) ^ (static_cast<std::uint64_t>(::getpid()) << 40)};
            world().nonce = where[2];
        }
        // Not begun, so that the numbers of calls start afterwards.
        const Call call{.request = {.operation = Operation::broadcast, .elements = sizeof where},
                        .deadline = Deadline::after(link.options().join_timeout)};
        const auto outgoing = std::as_bytes(std::span(where));
        const auto incoming = std::as_writable_bytes(std::span(where));
        for (int peer = 1; peer < link.world_size() && rank_ == 0; ++peer) link.exchange(call, {peer, outgoing}, {});
        if (rank_ != 0) {
            link.exchange(call, {}, {0, incoming});
            mapping_ = map_of_process(static_cast<int>(where[0]), static_cast<int>(where[1]), bytes);
            if (world().nonce != where[2]) throw TransportError("rank 0's memory is not on this host", 0);
        }
        rank(rank_).process.store(::getpid());
        peers_.resize(ranks);
        // Nobody goes on, or fails for a reason of its own, before all have mapped rank 0's memory. Afterwards each is
        // connected with every other, so that the loss of any is seen at once.
        try {
            for (int step = 1; step < link.world_size(); ++step) {
                const int next = (rank_ + step) % link.world_size();
                const int previous = (rank_ - step + link.world_size()) % link.world_size();
                link.exchange(call, {next, {}}, {previous, {}});
            }
        } catch (...) {
            fail(current_failure(rank_));  // Others may have gone on, and look here first.
            throw;
        }
    }

    HostWorld& world() noexcept { return *static_cast<HostWorld*>(mapping_.address()); }
    HostRank& rank(int index) noexcept {
        auto* const first = static_cast<std::byte*>(mapping_.address()) + sizeof(HostWorld);
        return reinterpret_cast<HostRank*>(first)[index];
    }

    std::byte* reach(int peer, const Location& location, std::size_t bytes) {
        auto& known = peers_[static_cast<std::size_t>(peer)];
        for (const Known& each : known) {
            if (each.segment == location.segment && each.inode == location.inode) return inside(each, location, bytes);
        }
        // A descriptor that stands for another file now: the old one is gone.
        std::erase_if(known, [&](const Known& each) { return each.segment == location.segment; });
        known.push_back(
            {location.segment, location.inode,
             map_of_process(rank(peer).process.load(), static_cast<int>(location.segment), 0, location.inode)});
        return inside(known.back(), location, bytes);
    }

    /// Keeps the first failure and wakes everybody.
    void fail(const Failure& failure) noexcept {
        int expected = HostWorld::well;
        if (world().state.compare_exchange_strong(expected, HostWorld::failing)) {
            world().kind = failure.kind;
            world().rank = failure.rank;
            const std::size_t size = (std::min)(failure.message.size(), world().message.size() - 1);
            std::memcpy(world().message.data(), failure.message.data(), size);
            world().state.store(HostWorld::failed);
        }
        for (std::size_t index = 0; index < peers_.size(); ++index) wake(static_cast<int>(index));
    }

    bool failed() noexcept { return world().state.load() != HostWorld::well; }

    Failure failure() {
        const Deadline moment = Deadline::after(Seconds{1});
        while (world().state.load() != HostWorld::failed) {
            if (moment.passed()) return {ErrorKind::peer_lost, -1, "a rank has died while it reported a failure"};
            std::this_thread::yield();
        }
        return {world().kind, world().rank, world().message.data()};
    }

    void wake(int peer) noexcept {
        HostRank& theirs = rank(peer);
        if (theirs.sleeping.load()) ::sem_post(&theirs.bell);
    }

    /// Spins for a moment, then sleeps until woken, but no longer than a slice: the dead ring no bell.
    template <class Condition>
    bool wait_a_slice(const Condition& condition, bool& spun) {
        for (int turn = 0; turn < spins_ && !spun; ++turn) {
            if (condition()) return true;
            pause_spinning();
        }
        spun = true;
        HostRank& own = rank(rank_);
        own.sleeping.store(true);
        if (!condition()) {
            timespec until{};
            ::clock_gettime(CLOCK_MONOTONIC, &until);
            constexpr long slice = 5'000'000;  // nanoseconds
            until.tv_nsec += slice;
            if (until.tv_nsec >= 1'000'000'000) {
                until.tv_nsec -= 1'000'000'000;
                ++until.tv_sec;
            }
            ::sem_clockwait(&own.bell, CLOCK_MONOTONIC, &until);
        }
        own.sleeping.store(false);
        while (::sem_trywait(&own.bell) == 0) {
        }
        return condition();
    }

private:
    struct Known {
        std::uint64_t segment;
        std::uint64_t inode;
        SharedMapping mapping;
    };

    static std::byte* inside(const Known& known, const Location& location, std::size_t bytes) {
        if (location.offset > known.mapping.bytes() || bytes > known.mapping.bytes() - location.offset) {
            throw TransportError("a peer's buffer of " + std::to_string(bytes) + " bytes is not in its memory of " +
                                 std::to_string(known.mapping.bytes()));
        }
        return static_cast<std::byte*>(known.mapping.address()) + location.offset;
    }

    int rank_;
    int spins_;
    SharedMapping mapping_;
    std::vector<std::vector<Known>> peers_;
};

}  // namespace detail

/// A handle of this process's rank; copies are the same rank. Joins as Sockets does, with the same options.
class SharedMemoryTransport {
public:
    /// @throws what Sockets throws; TransportError if ranks are on different hosts
    explicit SharedMemoryTransport(const SocketsOptions& options) : sockets_(options) {
        try {
            memory_ = std::make_shared<detail::HostMemory>(sockets_);
            before_ = sockets_.traffic();
        } catch (...) {
            sockets_.fail(current_failure(options.rank));
            throw;
        }
    }

    int rank() const noexcept { return sockets_.rank(); }
    int world_size() const noexcept { return sockets_.world_size(); }
    /// What went over the sockets: the fused kernel sends nothing.
    Traffic traffic() const noexcept {
        const Traffic all = sockets_.traffic();
        return {all.messages - before_.messages, all.bytes - before_.bytes};
    }

    Call begin(const Request& request) {
        if (memory_->failed()) raise_failure();
        try {
            return sockets_.begin(request);
        } catch (...) {
            memory_->fail(current_failure(rank()));
            raise_failure();
        }
    }

    void exchange(const Call& call, Outgoing outgoing, Incoming incoming) {
        try {
            sockets_.exchange(call, outgoing, incoming);
        } catch (...) {
            // Both ends of a connection may find a fault at once: what all ranks throw is what the memory has first.
            memory_->fail(current_failure(rank()));
            raise_failure();
        }
    }

    void fail(Failure failure) {
        memory_->fail(failure);
        sockets_.fail(std::move(failure));
    }

    // SharedAddressSpace (transport/board.hpp).
    RankBoard& board(int rank) noexcept { return memory_->rank(rank).board; }
    static std::optional<Location> locate(std::span<std::byte> bytes) {
        const auto segment = detail::SharedSegments::of_process().find(bytes);
        if (!segment) return std::nullopt;
        return Location{static_cast<std::uint64_t>(segment->descriptor),
                        static_cast<std::uint64_t>(bytes.data() - segment->address), segment->inode};
    }
    std::byte* reach(int peer, const Location& location, std::size_t bytes) {
        return memory_->reach(peer, location, bytes);
    }
    template <class Condition>
    void wait_for(const Call& call, int peer, const Condition& condition) {
        bool spun = false;
        bool reported = false;
        std::optional<Deadline> slow_at;
        const auto ended = [&] { return condition() || memory_->failed(); };
        while (!memory_->wait_a_slice(ended, spun)) {
            const bool lost = sockets_.gone(peer);
            if (condition()) break;  // What it did before it left counts.
            const SocketsOptions& options = sockets_.options();
            if (!slow_at) slow_at = Deadline::after(options.slow_after);
            if (lost) {
                fail({ErrorKind::peer_lost, peer,
                      "rank " + std::to_string(peer) + " is lost; rank " + std::to_string(rank()) +
                          " waits for it in " + to_string(call)});
            } else if (call.deadline.passed()) {
                fail({ErrorKind::timeout, peer, waited_text(rank(), options.timeout, peer, call)});
            } else if (!reported && slow_at->passed()) {
                reported = true;
                options.report(waited_text(rank(), options.slow_after, peer, call));
            }
        }
        if (memory_->failed()) raise_failure();
    }
    void wake(int peer) noexcept { memory_->wake(peer); }
    bool failed() const noexcept { return memory_->failed(); }
    [[noreturn]] void raise_failure() {
        const Failure failure = memory_->failure();
        sockets_.fail(failure);
        raise(failure);
    }
    /// Asks for the process, not for its connection: after a failure this rank itself has cut its connections.
    /// One that is stopped is given a moment, and may then spoil what this rank has given up anyway.
    bool alive(int peer) noexcept {
        if (!withdrawn_by_) withdrawn_by_ = Deadline::after(Seconds{1});
        if (withdrawn_by_->passed()) return false;
        return ::kill(memory_->rank(peer).process.load(), 0) == 0 || errno == EPERM;
    }

private:
    Sockets sockets_;
    Traffic before_;
    std::optional<Deadline> withdrawn_by_;
    std::shared_ptr<detail::HostMemory> memory_;
};

}  // namespace lockstep
