// SPDX-License-Identifier: MIT
/// @file
/// Transport Sockets: ranks are processes, joined by TCP or Unix domain sockets.
/// Idea: one thread sends and receives at once, in whatever order the kernel allows; what arrives is folded in pieces
///       that stay in the cache. No message but the data: both sides know what is due.
/// Cost: one message of 48 bytes more than the data for each transfer; two copies by the kernel.
/// Choose it when: ranks must not share a process, or run on several hosts. Unix domain sockets on one host.
#pragma once

#include <memory>
#include <utility>

#include <lockstep/core/concepts.hpp>
#include <lockstep/transport/sockets/end.hpp>

namespace lockstep {

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

    /// The last collectives of this rank, one line each: see core/recorder.hpp.
    std::string recent() const { return end_->recent(); }

    /// Has `peer`, with whom this rank has exchanged something, left or died? Asks the system, without waiting.
    bool gone(int peer) const noexcept { return end_->gone(peer); }

private:
    std::shared_ptr<detail::SocketEnd<System>> end_;
};

using Sockets = BasicSockets<>;

}  // namespace lockstep
