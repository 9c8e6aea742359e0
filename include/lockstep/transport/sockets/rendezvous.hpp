// SPDX-License-Identifier: MIT
/// @file
/// How ranks find each other: all meet at rank 0's address, learn everybody's, and connect in pairs.
///
/// 1. Rank 0 listens. The others connect to it (again and again until it is up), and say hello with the address at
///    which they listen themselves: the one on which they reached rank 0, with a port of their own.
/// 2. When all have come, rank 0 welcomes each with the list of addresses. These control connections stay.
/// 3. Each rank connects to every lower rank for data, says hello, and is welcomed.
/// 4. Each rank that has met all tells rank 0, which lets everybody go on when the last one has: what a rank does
///    then, failing or leaving at once, meets no one who is still on the way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/transport/sockets/address.hpp>
#include <lockstep/transport/sockets/lobby.hpp>
#include <lockstep/transport/sockets/messages.hpp>

namespace lockstep {

struct SocketsOptions {
    int rank = 0;
    int world_size = 1;
    /// Where rank 0 listens: "host:port", "[v6 address]:port" or "unix:/path".
    std::string address = "127.0.0.1:29500";
    /// Ranks of another job (a restarted one, say) are not let in.
    std::uint64_t job = 0;
    /// How long one collective may take before a missing rank becomes a TimeoutError.
    Seconds timeout{60};
    /// How long ranks wait for each other at the start.
    Seconds join_timeout{60};
    /// Both ends of every connection prove that they know it; empty for none. What is sent afterwards is in the clear.
    std::string secret{};
    /// May ranks meet beyond this host without a secret?
    bool insecure = false;
    /// How long a connection may take to say who it is.
    Seconds handshake_timeout{10};
    /// SO_SNDBUF and SO_RCVBUF of every connection; 0 leaves them to the kernel, which tunes TCP's better, and gives Unix
    /// domain sockets 512 KiB, or what the system allows: a tenth faster than what they have.
    int socket_buffer_bytes = 0;
    /// A listening socket that rank 0 takes over instead of opening one; -1 for none.
    int listener = -1;
};

namespace detail {

/// What a rendezvous yields: by rank, connections for control (all at rank 0, one to rank 0 elsewhere) and for data.
struct Connections {
    std::vector<Descriptor> control;
    std::vector<Descriptor> data;
};

template <class System>
class Rendezvous {
public:
    explicit Rendezvous(const SocketsOptions& options)
        : options_(options),
          deadline_(Deadline::after(options.join_timeout)),
          verdict_(Deadline::after(options.join_timeout + Seconds{1})) {
        connections_.control.resize(static_cast<std::size_t>(options.world_size));
        connections_.data.resize(static_cast<std::size_t>(options.world_size));
    }

    /// @throws ConfigurationError if ranks disagree about the world, TimeoutError naming who has not come
    Connections run() {
        refuse_to_be_open();
        if (options_.rank == 0) host();
        else join();
        // Those that were accepted have not inherited all of it.
        const int unless_told = is_unix(options_.address) ? unix_buffer_bytes : 0;
        const int bytes = options_.socket_buffer_bytes > 0 ? options_.socket_buffer_bytes : unless_told;
        for (const Descriptor& each : connections_.data) {
            if (each) set_buffers(each.get(), bytes);
        }
        return std::move(connections_);
    }

private:
    static constexpr int unix_buffer_bytes = 512 << 10;

    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    Hello hello(Role role, std::string address) const {
        return {options_.rank, options_.world_size, role, options_.job, std::move(address)};
    }

    /// Before anything is opened; a name that cannot be looked up yet is asked about again once it could.
    void refuse_to_be_open() const {
        if (is_unix(options_.address)) return;
        for (const SocketAddress& each : resolve(options_.address)) refuse_to_be_open_at(each);
    }
    void refuse_to_be_open_at(const SocketAddress& address) const {
        if (!options_.secret.empty() || options_.insecure || is_loopback(address)) return;
        throw ConfigurationError(
            "anyone who reaches " + options_.address +
            " could join: give all ranks the same SocketsOptions::secret (LaunchEnvironment takes it "
            "from LOCKSTEP_SECRET), or say that the network is trusted (insecure, "
            "LOCKSTEP_INSECURE=1)");
    }

    /// Says who this rank is, and proves it. False if that is not heard.
    bool introduce_to(int descriptor, int peer, Role role, std::string address, int news = -1) const {
        return introduce<System>(descriptor, encode(hello(role, std::move(address))), options_.secret, peer, deadline_,
                                 news);
    }

    void host() {
        Descriptor listener(options_.listener);
        if (!listener) listener = listen_at(options_.address, options_.socket_buffer_bytes);
        set_buffers(listener.get(), options_.socket_buffer_bytes);
        refuse_to_be_open_at(local_address(listener.get()));
        Lobby<System> lobby(std::move(listener), options_.handshake_timeout, options_.secret);
        std::vector<std::string> addresses(index(options_.world_size), options_.address);
        admit(lobby, Role::control, options_.world_size - 1, connections_.control, &addresses);
        std::string table;
        for (const std::string& address : addresses) table += address + "\n";
        const auto welcome = control_frame(FrameKind::welcome, std::as_bytes(std::span(table)));
        for (int rank = 1; rank < options_.world_size; ++rank) {
            // A rank that is gone already will be missed when its data connection does not come.
            write_all<System>(connections_.control[index(rank)].get(), welcome, deadline_);
        }
        admit(lobby, Role::data, options_.world_size - 1, connections_.data, nullptr);
        remove_name(options_.address);  // Everyone has come: it has done its work.
        start_together();
    }

    void join() {
        Descriptor& control = connections_.control[0];
        control = connect_to(options_.address, options_.socket_buffer_bytes, deadline_);
        refuse_to_be_open_at(local_address(control.get()));
        const std::string own = is_unix(options_.address) ? options_.address + "." + std::to_string(options_.rank)
                                                          : with_free_port(local_address(control.get()));
        Descriptor listener = listen_or_tell(own);
        const std::string advertised = to_text(local_address(listener.get()));
        introduce_to(control.get(), 0, Role::control, advertised);
        const std::vector<std::string> addresses = read_table();
        for (int lower = 0; lower < options_.rank; ++lower) {
            connect_data(lower, lower == 0 ? options_.address : addresses[index(lower)]);
        }
        Lobby<System> lobby(std::move(listener), options_.handshake_timeout, options_.secret);
        admit(lobby, Role::data, options_.world_size - 1 - options_.rank, connections_.data, nullptr);
        remove_name(own);
        write_all<System>(control.get(), control_frame(FrameKind::welcome, {}), deadline_);
        read_welcome();
    }

    /// Waits until every rank has met all others, then lets them go on.
    void start_together() {
        std::vector<int> waiting;
        for (int rank = 1; rank < options_.world_size; ++rank) waiting.push_back(rank);
        while (!waiting.empty()) {
            std::vector<pollfd> waits;
            for (const int rank : waiting) waits.push_back({connections_.control[index(rank)].get(), POLLIN, 0});
            if (!poll_until(waits, deadline_)) abandon(timeout(waiting), nullptr);
            for (std::size_t place = waits.size(); place-- > 0;) {
                if (waits[place].revents == 0) continue;
                const auto message = read_message<System>(waits[place].fd, Deadline::after(Seconds{1}));
                if (!message || message->kind != FrameKind::welcome)
                    abandon(failure_in(message, waiting[place]), nullptr);
                waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(place));
            }
        }
        for (int rank = 1; rank < options_.world_size; ++rank) {
            write_all<System>(connections_.control[index(rank)].get(), control_frame(FrameKind::welcome, {}),
                              deadline_);
        }
    }

    /// Listens for higher ranks. Where the name is taken, it is by another process that claims this rank: rank 0 then
    /// sees two of them, and tells everybody.
    Descriptor listen_or_tell(const std::string& own) {
        try {
            return listen_at(own, options_.socket_buffer_bytes);
        } catch (const Error& error) {
            introduce_to(connections_.control[0].get(), 0, Role::control, own);
            read_welcome();
            abandon({error.kind(), options_.rank, error.what()}, nullptr);  // It was somebody else's after all.
        }
    }

    static std::string with_free_port(SocketAddress address) {
        const std::string text = to_text(address);
        return text.substr(0, text.rfind(':')) + ":0";
    }

    /// What rank 0 has to say next. It knows best who is missing, so it is heard a moment longer than the deadline.
    std::vector<std::byte> read_welcome() {
        auto message = read_message<System>(connections_.control[0].get(), verdict_);
        if (!message && deadline_.passed()) {
            throw TimeoutError("rank " + std::to_string(options_.rank) + " has waited " +
                                   to_string(options_.join_timeout) + " at " + options_.address +
                                   " for all ranks to come",
                               0);
        }
        if (!message) {
            throw PeerLost("rank 0 is lost: it has broken off the connection at " + options_.address +
                               " before all had met (do all have the same LOCKSTEP_SECRET?)",
                           0);
        }
        if (message->kind != FrameKind::welcome) raise(failure_in(message, 0));
        return std::move(message->payload);
    }

    std::vector<std::string> read_table() {
        std::vector<std::string> addresses;
        const std::string table = text_of(read_welcome());
        for (std::size_t begin = 0; begin < table.size();) {
            const std::size_t end = (std::min)(table.find('\n', begin), table.size());
            addresses.push_back(table.substr(begin, end - begin));
            begin = end + 1;
        }
        if (addresses.size() != index(options_.world_size)) {
            throw TransportError("rank 0 knows " + std::to_string(addresses.size()) + " addresses of " +
                                     std::to_string(options_.world_size),
                                 0);
        }
        return addresses;
    }

    void connect_data(int peer, const std::string& address) {
        // Rank 0 has nothing to say at this time, unless something has gone wrong.
        const int control = connections_.control[0].get();
        Descriptor data = connect_to(address, options_.socket_buffer_bytes, deadline_, control);
        std::optional<Message> answer;
        if (data) {
            const bool heard = introduce_to(data.get(), peer, Role::data, {}, control);
            std::array<pollfd, 2> waits{{{data.get(), POLLIN, 0}, {control, POLLIN, 0}}};
            if (!poll_until(waits, deadline_)) {
                throw TimeoutError("rank " + std::to_string(peer) + " does not answer at " + address, peer);
            }
            if (heard && waits[0].revents != 0) answer = read_message<System>(data.get(), deadline_);
        }
        if (!answer || answer->kind != FrameKind::welcome) {
            const auto news = read_message<System>(control, Deadline::after(Seconds{1}));
            raise(news ? failure_in(news, 0) : failure_in(answer, peer));
        }
        connections_.data[index(peer)] = std::move(data);
    }

    /// Lets in `count` ranks that come for `role`; the addresses they listen at go into `addresses`.
    void admit(Lobby<System>& lobby, Role role, int count, std::vector<Descriptor>& into,
               std::vector<std::string>* addresses) {
        while (count > 0) {
            std::vector<int> watched;
            std::vector<int> ranks;
            for (int rank = 0; rank < options_.world_size; ++rank) {
                if (!connections_.control[index(rank)]) continue;
                watched.push_back(connections_.control[index(rank)].get());
                ranks.push_back(rank);
            }
            std::optional<std::size_t> spoke;
            std::optional<Guest> guest = lobby.next(deadline_, watched, spoke);
            if (spoke) {
                const int rank = ranks[*spoke];
                abandon(failure_in(read_message<System>(watched[*spoke], Deadline::after(Seconds{1})), rank), nullptr);
            }
            if (!guest) abandon(timeout(missing(into)), nullptr);
            const Hello& who = guest->hello();
            if (who.job != options_.job || who.role != role) continue;  // An older job's, or out of turn.
            if (const std::string fault = fault_of(who, into); !fault.empty()) {
                abandon({ErrorKind::configuration, who.rank, fault}, &*guest);
            }
            if (addresses != nullptr) (*addresses)[index(who.rank)] = who.address;
            const int rank = who.rank;
            into[index(rank)] = guest->take();
            if (role == Role::data) {
                write_all<System>(into[index(rank)].get(), control_frame(FrameKind::welcome, {}), deadline_);
            }
            --count;
        }
    }

    std::string fault_of(const Hello& who, const std::vector<Descriptor>& present) const {
        const std::string name = "rank " + std::to_string(who.rank);
        if (who.world_size != options_.world_size) {
            return "rank " + std::to_string(options_.rank) + " expects a world of " +
                   std::to_string(options_.world_size) + " ranks, " + name + " says " + std::to_string(who.world_size);
        }
        if (who.rank < 0 || who.rank >= options_.world_size) {
            return name + " is outside a world of " + std::to_string(options_.world_size) + " ranks";
        }
        if (who.rank == options_.rank || present[index(who.rank)]) return name + " is claimed twice";
        return {};
    }

    Failure timeout(const std::vector<int>& missing) const {
        std::string ranks;
        for (const int rank : missing) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
        return {ErrorKind::timeout, missing.front(),
                "rank " + std::to_string(options_.rank) + " has waited " + to_string(options_.join_timeout) + " at " +
                    options_.address + "; missing of " + std::to_string(options_.world_size) + " ranks: " + ranks};
    }

    /// Those who should come to this rank, and have not.
    std::vector<int> missing(const std::vector<Descriptor>& present) const {
        std::vector<int> ranks;
        for (int rank = options_.rank + 1; rank < options_.world_size; ++rank) {
            if (!present[index(rank)]) ranks.push_back(rank);
        }
        return ranks;
    }

    /// Tells everybody reachable, then throws.
    [[noreturn]] void abandon(const Failure& failure, const Guest* guest) {
        const auto notice = encode(failure);
        const Deadline soon = Deadline::after(Seconds{1});
        if (guest != nullptr) write_all<System>(guest->descriptor(), notice, soon);
        for (const Descriptor& control : connections_.control) {
            if (control) write_all<System>(control.get(), notice, soon);
        }
        raise(failure);
    }

    const SocketsOptions& options_;
    Deadline deadline_;
    Deadline verdict_;
    Connections connections_;
};

}  // namespace detail
}  // namespace lockstep
