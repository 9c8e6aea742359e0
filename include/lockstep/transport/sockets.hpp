// SPDX-License-Identifier: MIT
/// @file
/// Transport Sockets: ranks are processes, joined by TCP or Unix domain sockets.
/// Idea: one thread sends and receives at once, in whatever order the kernel allows; what arrives is folded in pieces
///       that stay in the cache. No message but the data: both sides know what is due.
/// Cost: one message of 48 bytes more than the data for each transfer; two copies by the kernel.
/// Choose it when: ranks must not share a process, or run on several hosts. Unix domain sockets on one host.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <lockstep/core/concepts.hpp>
#include <lockstep/transport/doorbell.hpp>
#include <lockstep/transport/sockets/control.hpp>
#include <lockstep/transport/sockets/rendezvous.hpp>

namespace lockstep {

namespace detail {

/// One rank's end of all connections.
template <class System>
class SocketEnd {
public:
    explicit SocketEnd(const SocketsOptions& settings)
        : options(settings), scratch_(piece_bytes), turns_(spins_for(options.world_size) > 0 ? idle_turns : 0) {
        if (options.world_size < 1) {
            throw ConfigurationError("world_size must be at least 1, not " + std::to_string(options.world_size));
        }
        if (options.rank < 0 || options.rank >= options.world_size) {
            throw ConfigurationError("rank " + std::to_string(options.rank) + " is outside a world of size " +
                                     std::to_string(options.world_size));
        }
        Connections connections;
        if (options.world_size > 1) connections = Rendezvous<System>(options).run();
        data_ = std::move(connections.data);
        control_.emplace(std::move(connections.control));
    }

    Call begin(const Request& request) {
        if (failure_) raise(*failure_);
        return {calls_++, request, Deadline::soon_after(options.timeout)};
    }

    void exchange(const Call& call, const Outgoing& outgoing, const Incoming& incoming) {
        if (failure_) raise(*failure_);
        Sending sending{outgoing, {}, 0};
        Receiving receiving{incoming, {}, 0, 0};
        if (outgoing.peer >= 0) {
            sending.header = encode(Header{FrameKind::data, call.request, call.sequence, outgoing.bytes.size()});
            ++traffic.messages;
            traffic.bytes += outgoing.bytes.size();
        }
        for (int turns = turns_;;) {
            const bool sent = outgoing.peer < 0 || sending.done == header_bytes + outgoing.bytes.size();
            const bool received = incoming.peer < 0 || receiving.done == header_bytes + incoming.bytes.size();
            if (sent && received) return;
            const bool sends = !sent && send(call, sending);
            const bool receives = !received && receive(call, receiving);
            if (sends || receives) {
                turns = turns_;
            } else if (turns > 0) {
                --turns;
                pause_spinning();
            } else {
                wait(call, sent ? -1 : outgoing.peer, received ? -1 : incoming.peer);
            }
        }
    }

    /// Latches, tells the others, and cuts the data connections, so that no rank waits for this one.
    void fail(Failure failure) {
        if (failure_) return;
        failure_ = std::move(failure);
        control_->announce(*failure_);
        for (const Descriptor& each : data_) {
            if (each) ::shutdown(each.get(), SHUT_RDWR);
        }
    }

    /// Has `peer` closed its end, by leaving or dying?
    bool gone(int peer) const noexcept {
        std::byte next;
        return ::recv(connection(peer), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }

    const SocketsOptions options;
    Traffic traffic;

private:
    /// Attempts that move nothing before this rank sleeps, where every rank has a core of its own: to be woken takes
    /// longer than these, some tens of microseconds.
    static constexpr int idle_turns = 50;
    /// Arriving bytes are folded from a piece of this size, which stays in the second-level cache.
    static constexpr std::size_t piece_bytes = std::size_t{128} << 10;

    struct Sending {
        Outgoing what;
        HeaderBytes header;
        std::size_t done;  ///< bytes of header and payload that the kernel has taken
    };
    struct Receiving {
        Incoming what;
        HeaderBytes header;
        std::size_t done;    ///< bytes of header and payload that have arrived
        std::size_t folded;  ///< bytes of the payload that are in place
    };

    int connection(int peer) const { return data_[static_cast<std::size_t>(peer)].get(); }

    bool send(const Call& call, Sending& sending) {
        const Moved step =
            send_some<System>(connection(sending.what.peer), sending.header, sending.what.bytes, sending.done);
        if (step.state == Moved::State::closed) lost(call, sending.what.peer, step.error);
        sending.done += step.bytes;
        return step.state == Moved::State::some;
    }

    bool receive(const Call& call, Receiving& receiving) {
        const Incoming& what = receiving.what;
        const int descriptor = connection(what.peer);
        const std::size_t expected = what.bytes.size();
        if (receiving.done < header_bytes) {
            // Header and first piece in one call; nothing is believed, or put in place, before the header is checked.
            const Moved step = receive_some<System>(descriptor, std::span(receiving.header).subspan(receiving.done),
                                                    std::span(scratch_).first((std::min)(piece_bytes, expected)));
            if (step.state == Moved::State::closed) lost(call, what.peer, step.error);
            receiving.done += step.bytes;
            if (receiving.done < header_bytes) return step.state == Moved::State::some;
            check(call, receiving);
            fold(call, receiving);
            return true;
        }
        const std::size_t arrived = receiving.done - header_bytes;
        std::span<std::byte> room = what.bytes.subspan(arrived);
        if (what.combine != nullptr) {
            const std::size_t kept = arrived - receiving.folded;  // part of an element
            room = std::span(scratch_).subspan(kept, (std::min)(piece_bytes - kept, expected - arrived));
        }
        const Moved step = receive_some<System>(descriptor, room);
        if (step.state == Moved::State::closed) lost(call, what.peer, step.error);
        receiving.done += step.bytes;
        if (what.combine != nullptr) fold(call, receiving);
        return step.state == Moved::State::some;
    }

    /// Puts whole elements of the scratch piece in place, and keeps the part of one that may follow them.
    void fold(const Call& call, Receiving& receiving) {
        const std::size_t ready = receiving.done - header_bytes - receiving.folded;
        if (receiving.what.combine == nullptr) {
            if (ready > 0) std::memcpy(receiving.what.bytes.data(), scratch_.data(), ready);
            receiving.folded += ready;
            return;
        }
        const std::size_t whole = ready - ready % size_of(call.request.type);
        receiving.what.combine(receiving.what.bytes.data() + receiving.folded, scratch_.data(), whole);
        std::memmove(scratch_.data(), scratch_.data() + whole, ready - whole);
        receiving.folded += whole;
    }

    void check(const Call& call, const Receiving& receiving) {
        const int peer = receiving.what.peer;
        const std::optional<Header> header = decode(receiving.header);
        if (!header || header->kind != FrameKind::data) {
            give_up({ErrorKind::transport, peer,
                     "rank " + std::to_string(peer) + " sent bytes that are no lockstep frame"});
        }
        if (header->sequence != call.sequence || header->request != call.request ||
            header->bytes != receiving.what.bytes.size()) {
            give_up(disagreement(options.rank, call, peer, header->sequence, header->request));
        }
    }

    void wait(const Call& call, int outgoing, int incoming) {
        waits_.clear();
        if (incoming >= 0) waits_.push_back({connection(incoming), POLLIN, 0});
        if (outgoing >= 0 && outgoing == incoming) waits_[0].events |= POLLOUT;
        else if (outgoing >= 0) waits_.push_back({connection(outgoing), POLLOUT, 0});
        const std::size_t own = waits_.size();
        control_->watch(waits_);
        if (!poll_until(waits_, call.deadline)) {
            const int peer = incoming >= 0 ? incoming : outgoing;
            give_up({ErrorKind::timeout, peer,
                     "rank " + std::to_string(options.rank) + " has waited " + to_string(options.timeout) +
                         " for rank " + std::to_string(peer) + " in " + to_string(call)});
        }
        for (std::size_t index = own; index < waits_.size(); ++index) {
            if (waits_[index].revents == 0) continue;
            if (const auto failure = control_->news()) give_up(*failure);
            return;
        }
    }

    [[noreturn]] void lost(const Call& call, int peer, int error) {
        if (const auto known = control_->reason(Deadline::after(Seconds{1}))) give_up(*known);
        give_up({ErrorKind::peer_lost, peer,
                 "rank " + std::to_string(peer) + " is lost (" + (error == 0 ? "it has left" : std::strerror(error)) +
                     "); rank " + std::to_string(options.rank) + " was in " + to_string(call)});
    }

    [[noreturn]] void give_up(const Failure& failure) {
        fail(failure);
        raise(*failure_);
    }

    std::vector<Descriptor> data_;
    std::optional<Control<System>> control_;
    std::optional<Failure> failure_;
    std::uint64_t calls_ = 0;
    std::vector<std::byte> scratch_;
    std::vector<pollfd> waits_;
    int turns_;
};

}  // namespace detail

/// A handle of this process's rank; copies are the same rank. Constructing it joins the world; when the last copy is
/// gone the connections close. `System` is the layer of system calls.
template <class System = SystemCalls>
class BasicSockets {
public:
    /// Meets the other ranks at `options.address`. World size 1 opens no socket.
    /// @throws ConfigurationError if ranks disagree about the world, TransportError if the address is taken,
    ///         TimeoutError naming the ranks that have not come
    explicit BasicSockets(const SocketsOptions& options) : end_(std::make_shared<detail::SocketEnd<System>>(options)) {}

    const SocketsOptions& options() const noexcept { return end_->options; }
    int rank() const noexcept { return end_->options.rank; }
    int world_size() const noexcept { return end_->options.world_size; }
    Traffic traffic() const noexcept { return end_->traffic; }

    /// @throws the failure that ended this world, if it has failed
    Call begin(const Request& request) { return end_->begin(request); }

    /// @throws ShapeError or TransportError if the peers are in another call; TimeoutError naming the rank waited
    ///         for; PeerLost if it is gone; whatever another rank failed with
    void exchange(const Call& call, Outgoing outgoing, Incoming incoming) { end_->exchange(call, outgoing, incoming); }

    /// Every call under way and to come, on every rank, throws `failure`. The first failure stays.
    void fail(Failure failure) { end_->fail(std::move(failure)); }

    /// Has `peer` left or died? Asks the system, without waiting.
    bool gone(int peer) const noexcept { return end_->gone(peer); }

private:
    std::shared_ptr<detail::SocketEnd<System>> end_;
};

using Sockets = BasicSockets<>;

}  // namespace lockstep
