// SPDX-License-Identifier: MIT
/// @file
/// Transport Mpi: ranks are those of an MPI job, so that every topology runs on a cluster's own network.
/// CMake target lockstep::mpi.
///
///     int main(int count, char** arguments) {
///         const lockstep::MpiSession session(count, arguments);
///         lockstep::Mpi link;
///         ...                             // DataParallel<Model, Ring, Mpi> replica{model, link};
///     }
///
/// Idea: point-to-point messages on a communicator of our own. A message begins with the call that it belongs to; up to
///       4 KiB of payload travel along, longer ones follow in pieces straight from the sender's memory.
/// Cost: one MPI message up to 4 KiB, 1 + ceil(bytes / piece_bytes) above. Waiting is polling that yields when idle.
/// Choose it when: the cluster has a network that sockets do not know, or a launcher that starts MPI jobs only.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <mpi.h>

#include <lockstep/adapters/mpi_failures.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/core/one_thread.hpp>
#include <lockstep/core/report.hpp>

namespace lockstep {

struct MpiOptions {
    /// How long one collective may take before a missing rank becomes a TimeoutError.
    Seconds timeout{60};
    /// After how long a rank says which one it waits for. It is no error yet.
    Seconds slow_after{10};
    void (*report)(const std::string& line) = report_to_stderr;
    /// Longest payload of one MPI message, a multiple of 64 and the same on all ranks. Whatever it is, no count that MPI
    /// sees comes near INT_MAX.
    std::size_t piece_bytes = std::size_t{1} << 20;
};

/// MPI_Init to MPI_Finalize, if nobody has called them yet. One thread at a time talks to MPI.
class MpiSession {
public:
    MpiSession(int& count, char**& arguments) {
        int begun = 0;
        MPI_Initialized(&begun);
        owns_ = begun == 0;
        int level = MPI_THREAD_SINGLE;
        if (owns_) MPI_Init_thread(&count, &arguments, MPI_THREAD_SERIALIZED, &level);
        else MPI_Query_thread(&level);
        if (level < MPI_THREAD_SERIALIZED) {
            throw ConfigurationError("this MPI has no MPI_THREAD_SERIALIZED, which a reducing thread needs");
        }
    }
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    ~MpiSession() {
        if (owns_) MPI_Finalize();
    }

private:
    bool owns_ = false;
};

namespace detail {

/// What one rank knows of its world: all copies of the handle share it.
struct MpiWorld {
    MPI_Comm communicator = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
    MpiOptions options;
    std::uint64_t calls = 0;
    Traffic traffic;
    std::atomic<bool> in_use{false};
    std::unique_ptr<MpiFailures> failures;
    std::vector<std::byte> outgoing;
    std::vector<std::byte> incoming;
    std::vector<std::byte> staging;  ///< two pieces
    std::vector<MPI_Request> sends;

    ~MpiWorld() {
        if (failures) failures->say_goodbye();
    }
};

/// How a message begins. Ranks of a job are alike: it travels as it lies in memory.
struct MpiHeader {
    std::uint64_t sequence = 0;
    std::uint64_t bytes = 0;
    Request request;
};

}  // namespace detail

/// A handle of one rank; copies are the same rank.
///
/// Errors travel to all ranks, as over every transport. After one, memory that was being sent, or reduced by MpiAllReduce,
/// must stay where it is until
/// MPI_Finalize: MPI cannot take a send back. A rank that dies ends the job, if the launcher does what most do.
class Mpi {
public:
    /// Every rank of `communicator` calls it. @throws ConfigurationError before MPI_Init, or for a `piece_bytes` that is
    /// no multiple of 64 or above 1 GiB
    explicit Mpi(const MpiOptions& options = {}, MPI_Comm communicator = MPI_COMM_WORLD) {
        int begun = 0;
        MPI_Initialized(&begun);
        if (begun == 0) throw ConfigurationError("Mpi: MPI_Init has not been called, an MpiSession does");
        if (options.piece_bytes == 0 || options.piece_bytes % 64 != 0 || options.piece_bytes > std::size_t{1} << 30) {
            throw ConfigurationError("MpiOptions: piece_bytes must be a multiple of 64 up to 1 GiB, not " +
                                     std::to_string(options.piece_bytes));
        }
        world_->options = options;
        // Never freed: that would be a meeting of all ranks, of which some may have failed. MPI_Finalize frees it.
        MPI_Comm_dup(communicator, &world_->communicator);
        MPI_Comm_set_errhandler(world_->communicator, MPI_ERRORS_RETURN);
        MPI_Comm_rank(world_->communicator, &world_->rank);
        MPI_Comm_size(world_->communicator, &world_->size);
        world_->failures = std::make_unique<detail::MpiFailures>(world_->communicator, world_->rank, world_->size);
        world_->outgoing.resize(sizeof(detail::MpiHeader) + inline_bytes);
        world_->incoming.resize(world_->outgoing.size());
    }

    int rank() const noexcept { return world_->rank; }
    int world_size() const noexcept { return world_->size; }
    /// As schedules count: a message is one, in however many pieces it travels.
    Traffic traffic() const noexcept { return world_->traffic; }
    MPI_Comm communicator() const noexcept { return world_->communicator; }

    Call begin(const Request& request) {
        world_->failures->look();
        return {world_->calls++, request, Deadline::soon_after(world_->options.timeout)};
    }

    /// @throws ShapeError or TransportError if the peers are in another call; TimeoutError naming the rank waited for,
    ///         which may itself only be waiting; PeerLost if it has left; whatever another rank failed with
    void exchange(const Call& call, Outgoing outgoing, Incoming incoming) try {
        const detail::OneThread one(world_->in_use, world_->rank);
        auto& sends = world_->sends;
        sends.clear();
        MPI_Request head = MPI_REQUEST_NULL;
        if (incoming.peer >= 0) {
            check(MPI_Irecv(world_->incoming.data(), static_cast<int>(world_->incoming.size()), MPI_BYTE, incoming.peer,
                            head_tag, world_->communicator, &head));
        }
        if (outgoing.peer >= 0) send(call, outgoing);
        if (incoming.peer >= 0) receive(call, incoming, head);
        wait(call, sends, outgoing.peer, false);
    } catch (...) {
        keep(world_);
        throw;
    }

    /// Every call under way and to come, on every rank, throws `failure`. The first failure stays.
    void fail(Failure failure) { world_->failures->fail(std::move(failure)); }

    /// Waits for requests of this call's own: for reducers that use MPI directly.
    void wait(const Call& call, std::span<MPI_Request> requests, int peer, bool receives) {
        Deadline slow_at = Deadline::after(world_->options.slow_after);
        bool reported = false;
        for (std::uint64_t turn = 1;; ++turn) {
            int done = 0;
            check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
            if (done != 0) return;
            if (turn % turns_until_look != 0) continue;
            try {
                world_->failures->look();
                if (receives && world_->failures->is_gone(peer)) lose(call, peer);
                if (call.deadline.passed()) be_late(call, peer);
            } catch (...) {
                for (MPI_Request& request : requests) abandon(request, receives);
                throw;
            }
            if (!reported && slow_at.passed()) {
                reported = true;
                world_->options.report(waited_text(rank(), world_->options.slow_after, peer, call));
            }
            std::this_thread::yield();
        }
    }
    /// For memory of an operation that was left to MPI: it stays until the process ends, since MPI may still use it.
    static void keep(std::shared_ptr<void> memory) {
        static std::vector<std::shared_ptr<void>> kept;
        kept.push_back(std::move(memory));
    }
    /// @throws TransportError on all ranks, with MPI's own text, for a return value of an MPI function that is an error
    void check(int result) {
        if (result == MPI_SUCCESS) return;
        std::array<char, MPI_MAX_ERROR_STRING> text{};
        int length = 0;
        MPI_Error_string(result, text.data(), &length);
        fail({ErrorKind::transport, rank(),
              "rank " + std::to_string(rank()) + ": " + std::string(text.data(), static_cast<std::size_t>(length))});
        world_->failures->look();
    }

private:
    static constexpr std::size_t inline_bytes = 4096;
    static constexpr std::uint64_t turns_until_look = 64;
    static constexpr int head_tag = 1;
    static constexpr int piece_tag = 2;
    using Header = detail::MpiHeader;

    void send(const Call& call, const Outgoing& outgoing) {
        const Header header{call.sequence, outgoing.bytes.size(), call.request};
        std::memcpy(world_->outgoing.data(), &header, sizeof header);
        std::size_t head = sizeof header;
        const bool is_short = outgoing.bytes.size() <= inline_bytes;
        if (is_short && !outgoing.bytes.empty()) {
            std::memcpy(world_->outgoing.data() + head, outgoing.bytes.data(), outgoing.bytes.size());
            head += outgoing.bytes.size();
        }
        world_->failures->count_sent(outgoing.peer);
        post(world_->outgoing.data(), head, outgoing.peer, head_tag);
        for (std::size_t at = 0; !is_short && at < outgoing.bytes.size(); at += world_->options.piece_bytes) {
            const std::size_t size = (std::min)(world_->options.piece_bytes, outgoing.bytes.size() - at);
            post(outgoing.bytes.data() + at, size, outgoing.peer, piece_tag);
        }
        ++world_->traffic.messages;
        world_->traffic.bytes += outgoing.bytes.size();
    }
    void post(const std::byte* bytes, std::size_t size, int peer, int tag) {
        world_->sends.push_back(MPI_REQUEST_NULL);
        check(
            MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, peer, tag, world_->communicator, &world_->sends.back()));
    }

    void receive(const Call& call, const Incoming& incoming, MPI_Request& head) {
        wait(call, std::span(&head, 1), incoming.peer, true);
        world_->failures->count_received(incoming.peer);
        Header header;
        std::memcpy(&header, world_->incoming.data(), sizeof header);
        if (header.sequence != call.sequence || header.request != call.request ||
            header.bytes != incoming.bytes.size()) {
            fail(disagreement(rank(), call, incoming.peer, header.sequence, header.request));
            world_->failures->look();
        }
        if (incoming.bytes.empty()) return;
        if (incoming.bytes.size() > inline_bytes) return receive_pieces(call, incoming);
        // Elements lie aligned: the header's size is a multiple of theirs.
        const std::byte* const payload = world_->incoming.data() + sizeof header;
        if (incoming.combine != nullptr) incoming.combine(incoming.bytes.data(), payload, incoming.bytes.size());
        else std::memcpy(incoming.bytes.data(), payload, incoming.bytes.size());
    }

    /// Two receives are under way: one is combined while the other arrives. What replaces needs no staging.
    void receive_pieces(const Call& call, const Incoming& incoming) {
        const std::size_t piece = world_->options.piece_bytes;
        const std::size_t pieces = (incoming.bytes.size() + piece - 1) / piece;
        if (incoming.combine != nullptr) world_->staging.resize(2 * piece);
        std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        const auto target = [&](std::size_t index) {
            return incoming.bytes.subspan(index * piece, (std::min)(piece, incoming.bytes.size() - index * piece));
        };
        const auto begin = [&](std::size_t index) {
            const auto place = target(index);
            check(MPI_Irecv(incoming.combine != nullptr ? world_->staging.data() + index % 2 * piece : place.data(),
                            static_cast<int>(place.size()), MPI_BYTE, incoming.peer, piece_tag, world_->communicator,
                            &requests[index % 2]));
        };
        for (std::size_t index = 0; index < (std::min)(pieces, std::size_t{2}); ++index) begin(index);
        for (std::size_t index = 0; index < pieces; ++index) {
            try {
                wait(call, std::span(&requests[index % 2], 1), incoming.peer, true);
            } catch (...) {
                abandon(requests[(index + 1) % 2], true);
                throw;
            }
            if (incoming.combine != nullptr) {
                incoming.combine(target(index).data(), world_->staging.data() + index % 2 * piece,
                                 target(index).size());
            }
            if (index + 2 < pieces) begin(index + 2);
        }
    }

    /// A receive that has found its message ends by itself, any other is taken back. What sends is left to MPI, which can
    /// neither take it back nor, if it is collective, free it before its end.
    static void abandon(MPI_Request& request, bool receives) {
        if (receives && request != MPI_REQUEST_NULL) {
            MPI_Cancel(&request);
            const Deadline soon = Deadline::after(Seconds{1});
            for (int done = 0; done == 0 && !soon.passed();) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        request = MPI_REQUEST_NULL;
    }

    void lose(const Call& call, int peer) {
        fail({ErrorKind::peer_lost, peer,
              "rank " + std::to_string(peer) + " has left; rank " + std::to_string(rank()) + " waits for it in " +
                  to_string(call)});
        world_->failures->look();
    }
    void be_late(const Call& call, int peer) {
        fail({ErrorKind::timeout, peer, waited_text(rank(), world_->options.timeout, peer, call)});
        world_->failures->look();
    }

    std::shared_ptr<detail::MpiWorld> world_ = std::make_shared<detail::MpiWorld>();
};

}  // namespace lockstep
