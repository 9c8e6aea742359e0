// SPDX-License-Identifier: MIT
/// @file
/// Data connections between pairs of ranks, made when a pair first has something to exchange: the higher rank calls, the
/// lower one lets it in whenever it waits. A ring of a thousand opens two a rank.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <lockstep/transport/sockets/address.hpp>
#include <lockstep/transport/sockets/lobby.hpp>
#include <lockstep/transport/sockets/rendezvous.hpp>

namespace lockstep::detail {

template <class System>
class Peers {
public:
    Peers(const SocketsOptions& options, Met met)
        : options_(options),
          addresses_(std::move(met.addresses)),
          session_(met.session),
          lobby_(std::move(met.listener), options.handshake_timeout, session_, options.secret),
          data_(static_cast<std::size_t>(options.world_size)) {
        lobby_.expect_at_most(data_.size() + 64);
    }
    Peers(const Peers&) = delete;
    Peers& operator=(const Peers&) = delete;
    /// The name of a Unix domain socket goes with its listener.
    ~Peers() {
        if (options_.world_size > 1) remove_name(addresses_[static_cast<std::size_t>(options_.rank)]);
    }

    /// The connection with `peer`; -1 if there is none yet.
    int operator[](int peer) const noexcept { return data_[static_cast<std::size_t>(peer)].get(); }

    /// Adds what to poll for: whoever wants to come in.
    void watch(std::vector<pollfd>& waits) const {
        if (!closed_) lobby_.watch(waits);
    }

    /// Lets in the ranks that have come, without waiting; anybody else is shown the door.
    void admit() {
        if (closed_) return;
        try {
            lobby_.welcome_all();
        } catch (const TransportError&) {
            ::poll(nullptr, 0, 1);  // Out of descriptors, say: another time, those who are in go on.
        }
        while (auto guest = lobby_.ready()) {
            const Hello& who = guest->hello();
            if (who.role != Role::data || who.world_size != options_.world_size || who.rank <= options_.rank ||
                who.rank >= options_.world_size || (*this)[who.rank] >= 0) {
                continue;
            }
            // Nothing else has been sent, so that there is room, and nobody waits.
            const Deadline now = Deadline::after(Seconds{0});
            if (!write_all<System>(guest->descriptor(), control_frame(FrameKind::welcome, {}), now)) continue;
            keep(who.rank, guest->take());
        }
    }

    /// Calls a lower rank, again if it hangs up before it has answered. `wait(descriptor, events)` waits until it is ready.
    /// @return 0, or the reason why there is no connection: ETIMEDOUT if time is up, ECONNREFUSED if `peer` has left
    /// @throws ConfigurationError if `peer` does not know the secret; TransportError if this process lacks what it takes
    template <class Wait>
    int call(int peer, const Deadline& deadline, const Wait& wait) {
        const SocketAddress address = address_of(peer);
        for (;; ::poll(nullptr, 0, 10)) {
            int error = 0;
            Descriptor opened = start_connecting(address, options_.socket_buffer_bytes, error);
            if (opened) {
                wait(opened.get(), POLLOUT);
                error = finish_connecting(opened.get(), address);
            }
            const bool lacks =
                error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == EADDRNOTAVAIL;
            if (lacks && !lobby_.make_room() && deadline.passed()) {
                throw TransportError("rank " + std::to_string(options_.rank) + " cannot call rank " +
                                         std::to_string(peer) + ": " + std::strerror(error),
                                     options_.rank);
            }
            if (error == 0 && introduced(opened, peer, deadline, wait)) return 0;
            // A full queue at the other end, or a door that was shut too soon, may be better another time.
            if (error != 0 && error != EAGAIN && !lacks) return error;
            if (deadline.passed()) return ETIMEDOUT;
        }
    }

    /// Does `peer` still listen? It may have left without ever calling. Asks the system, without waiting: about the
    /// question that it was asked the last time, and with a new one.
    bool listens(int peer) {
        const SocketAddress address = address_of(peer);
        int error = 0;
        if (probe_ && probed_ == peer && poll_until(probe_.get(), POLLOUT, Deadline::after(Seconds{0}))) {
            error = finish_connecting(probe_.get(), address);
        }
        probe_.reset();
        if (error == 0) probe_ = start_connecting(address, 0, error);
        probed_ = peer;
        return error != ECONNREFUSED && error != ENOENT;
    }

    /// Says why where nothing else is half said, and ends all connections, made and to come.
    void cut(const Failure& failure, int half_said) noexcept {
        std::vector<std::byte> frame;
        try {
            frame = encode(failure);
        } catch (...) {
            frame.clear();  // No memory for words: the end of the connection must say it.
        }
        for (std::size_t peer = 0; peer < data_.size(); ++peer) {
            if (!data_[peer]) continue;
            const bool whole = static_cast<int>(peer) != half_said;
            if (whole) send_some<System>(data_[peer].get(), frame, {}, 0);
            ::shutdown(data_[peer].get(), SHUT_RDWR);
        }
        closed_ = true;
        lobby_.close();
    }

private:
    static constexpr int unix_buffer_bytes = 512 << 10;

    SocketAddress address_of(int peer) const {
        const std::string& address = addresses_[static_cast<std::size_t>(peer)];
        const auto found = numeric(address);
        if (!found)
            throw TransportError("rank " + std::to_string(peer) + " cannot be called at \"" + address + "\"", peer);
        return *found;
    }

    /// False if `peer` hangs up before it has let this rank in.
    template <class Wait>
    bool introduced(Descriptor& opened, int peer, const Deadline& deadline, const Wait& wait) {
        const auto readable = [&] { return wait(opened.get(), POLLIN); };
        const Hello hello{options_.rank, options_.world_size, Role::data, session_, {}};
        if (!introduce<System>(opened.get(), encode(hello), options_.secret, peer, deadline, readable)) return false;
        if (!readable()) return false;
        const auto answer = read_message<System>(opened.get(), deadline);
        if (!answer || answer->kind() != FrameKind::welcome) return false;
        keep(peer, std::move(opened));
        return true;
    }

    void keep(int peer, Descriptor opened) {
        // One that was accepted has not inherited all of it.
        const int unless_told = is_unix(options_.address) ? unix_buffer_bytes : 0;
        set_buffers(opened.get(), options_.socket_buffer_bytes > 0 ? options_.socket_buffer_bytes : unless_told);
        data_[static_cast<std::size_t>(peer)] = std::move(opened);
    }

    const SocketsOptions& options_;
    std::vector<std::string> addresses_;
    std::uint64_t session_;
    Lobby<System> lobby_;
    std::vector<Descriptor> data_;
    Descriptor probe_;
    int probed_ = -1;
    bool closed_ = false;
};

}  // namespace lockstep::detail
