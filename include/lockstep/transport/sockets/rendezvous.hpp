// SPDX-License-Identifier: MIT
/// @file
/// How ranks find each other: all meet at rank 0's address and learn everybody's.
///
/// 1. Rank 0 listens. The others connect to it (again and again until it is up), and say hello with the address at
///    which they listen themselves: the one on which they reached rank 0, with a port of their own.
/// 2. When all have come, rank 0 welcomes each with the list of addresses. These control connections stay.
///
/// Two ranks connect for data when they first have some for each other (peers.hpp): a ring opens two connections a rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/core/report.hpp>
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
    /// After how long a rank says which one it waits for, once a collective. It is no error yet.
    Seconds slow_after{10};
    /// To whom it says so.
    void (*report)(const std::string& line) = report_to_stderr;
    /// How long ranks wait for each other at the start.
    Seconds join_timeout{60};
    /// How long a connection may take to say who it is.
    Seconds handshake_timeout{10};
    /// Both ends of every connection prove that they know it; empty for none. What is sent afterwards is in the clear.
    std::string secret{};
    /// May ranks meet beyond this host without a secret?
    bool insecure = false;
    /// A rank that fails writes its last collectives to the file `record` with its rank at the end; empty for none.
    std::string record{};
    /// SO_SNDBUF and SO_RCVBUF of every connection; 0 leaves them to the kernel, which tunes TCP's better, and gives Unix
    /// domain sockets 512 KiB, or what the system allows: a tenth faster than what they have.
    int socket_buffer_bytes = 0;
    /// A listening socket that rank 0 takes over instead of opening one; -1 for none.
    int listener = -1;
};

namespace detail {

/// What a rendezvous yields.
struct Met {
    std::vector<Descriptor> control;     ///< by rank: all at rank 0, one to rank 0 elsewhere
    Descriptor listener;                 ///< where this rank can be called for data
    std::vector<std::string> addresses;  ///< where the others can
    std::uint64_t session = 0;
};

template <class System>
class Rendezvous {
public:
    explicit Rendezvous(const SocketsOptions& options)
        : options_(options),
          deadline_(Deadline::after(options.join_timeout)),
          verdict_(Deadline::after(options.join_timeout + Seconds{1})) {
        met_.control.resize(static_cast<std::size_t>(options.world_size));
    }

    /// @throws ConfigurationError if ranks disagree about the world, TimeoutError naming who has not come
    Met run() {
        refuse_to_be_open();
        if (options_.rank == 0) host();
        else join();
        return std::move(met_);
    }

private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

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

    void host() {
        Descriptor listener(options_.listener);
        if (!listener) listener = listen_at(options_.address, options_.socket_buffer_bytes);
        set_buffers(listener.get(), options_.socket_buffer_bytes);
        refuse_to_be_open_at(local_address(listener.get()));
        Lobby<System> lobby(std::move(listener), options_.handshake_timeout, options_.job, options_.secret);
        met_.addresses.assign(index(options_.world_size), options_.address);
        admit_all(lobby);
        met_.session = random_number();
        const auto welcome = encode(Welcome{met_.session, met_.addresses});
        for (int rank = 1; rank < options_.world_size; ++rank) {
            // A rank that is gone already will be missed when it is needed.
            write_all<System>(met_.control[index(rank)].get(), welcome, deadline_);
        }
        met_.listener = lobby.take_listener();
    }

    void join() {
        Descriptor& control = met_.control[0];
        control = connect_to(options_.address, options_.socket_buffer_bytes, deadline_);
        refuse_to_be_open_at(local_address(control.get()));
        const std::string own = is_unix(options_.address) ? options_.address + "." + std::to_string(options_.rank)
                                                          : with_free_port(local_address(control.get()));
        met_.listener = listen_or_tell(own);
        introduce_at(to_text(local_address(met_.listener.get())));
        Welcome welcome = read_welcome();
        met_.session = welcome.session;
        met_.addresses = std::move(welcome.addresses);
        // The address at which rank 0 was reached, out of all that its name may stand for.
        if (!is_unix(options_.address)) met_.addresses[0] = to_text(remote_address(control.get()));
    }

    /// Tells rank 0 who this rank is and where it listens.
    void introduce_at(const std::string& address) const {
        const int control = met_.control[0].get();
        const Hello hello{options_.rank, options_.world_size, Role::control, options_.job, address};
        introduce<System>(control, encode(hello), options_.secret, 0, deadline_,
                          [&] { return poll_until(control, POLLIN, deadline_); });
    }

    /// Listens for higher ranks. Where the name is taken, it is by another process that claims this rank: rank 0 then
    /// sees two of them, and tells everybody.
    Descriptor listen_or_tell(const std::string& own) {
        try {
            return listen_at(own, options_.socket_buffer_bytes);
        } catch (const Error& error) {
            introduce_at(own);
            read_welcome();
            abandon({error.kind(), options_.rank, error.what()}, nullptr);  // It was somebody else's after all.
        }
    }

    static std::string with_free_port(SocketAddress address) {
        const std::string text = to_text(address);
        return text.substr(0, text.rfind(':')) + ":0";
    }

    /// What rank 0 has to say. It knows best who is missing, so it is heard a moment longer than the deadline.
    Welcome read_welcome() {
        const auto message = read_message<System>(met_.control[0].get(), verdict_);
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
        if (message->kind() != FrameKind::welcome) raise(failure_in(message, 0));
        auto welcome = decode_welcome(message->payload);
        if (!welcome || welcome->addresses.size() != index(options_.world_size)) {
            throw TransportError("rank 0 knows " + std::to_string(welcome ? welcome->addresses.size() : 0) +
                                     " addresses of " + std::to_string(options_.world_size),
                                 0);
        }
        return *std::move(welcome);
    }

    /// Lets in all ranks; the addresses they listen at go into the table.
    void admit_all(Lobby<System>& lobby) {
        for (int count = options_.world_size - 1; count > 0;) {
            std::vector<int> watched;
            std::vector<int> ranks;
            for (int rank = 0; rank < options_.world_size; ++rank) {
                if (!met_.control[index(rank)]) continue;
                watched.push_back(met_.control[index(rank)].get());
                ranks.push_back(rank);
            }
            std::optional<std::size_t> spoke;
            std::optional<Guest> guest = lobby.next(deadline_, watched, spoke);
            if (spoke) {
                const int rank = ranks[*spoke];
                abandon(failure_in(read_message<System>(watched[*spoke], Deadline::after(Seconds{1})), rank), nullptr);
            }
            if (!guest && lobby.refused() && !deadline_.passed()) {
                options_.report(refusal_of(*lobby.refused()));  // Anybody can make one: it is no error yet.
                continue;
            }
            if (!guest) abandon(nobody_else_came(lobby.refused()), nullptr);
            const Hello& who = guest->hello();
            // Out of turn, or where no rank can be.
            if (who.role != Role::control || !numeric(who.address)) continue;
            if (const std::string fault = fault_of(who); !fault.empty()) {
                abandon({ErrorKind::configuration, who.rank, fault}, &*guest);
            }
            const int rank = who.rank;
            met_.addresses[index(rank)] = who.address;
            met_.control[index(rank)] = guest->take();
            --count;
        }
    }

    std::string fault_of(const Hello& who) const {
        const std::string name = "rank " + std::to_string(who.rank);
        if (who.world_size != options_.world_size) {
            return "rank 0 expects a world of " + std::to_string(options_.world_size) + " ranks, " + name + " says " +
                   std::to_string(who.world_size);
        }
        if (who.rank < 0 || who.rank >= options_.world_size) {
            return name + " is outside a world of " + std::to_string(options_.world_size) + " ranks";
        }
        if (who.rank == 0 || met_.control[index(who.rank)]) return name + " is claimed twice";
        return {};
    }

    std::string refusal_of(int rank) const {
        return "a caller at " + options_.address + " that says it is rank " + std::to_string(rank) +
               " has another LOCKSTEP_SECRET than rank 0";
    }

    Failure nobody_else_came(std::optional<int> refused) const {
        std::string ranks;
        int first = -1;
        for (int rank = options_.world_size - 1; rank > 0; --rank) {
            if (met_.control[index(rank)]) continue;
            ranks = std::to_string(rank) + (ranks.empty() ? "" : ", ") + ranks;
            first = rank;
        }
        return {ErrorKind::timeout, first,
                "rank 0 has waited " + to_string(options_.join_timeout) + " at " + options_.address + "; missing of " +
                    std::to_string(options_.world_size) + " ranks: " + ranks +
                    (refused ? "; " + refusal_of(*refused) : "")};
    }

    /// Tells everybody reachable, then throws.
    [[noreturn]] void abandon(const Failure& failure, const Guest* guest) {
        const auto notice = encode(failure);
        const Deadline soon = Deadline::after(Seconds{1});
        if (guest != nullptr) write_all<System>(guest->descriptor(), notice, soon);
        for (const Descriptor& control : met_.control) {
            if (control) write_all<System>(control.get(), notice, soon);
        }
        raise(failure);
    }

    const SocketsOptions& options_;
    Deadline deadline_;
    Deadline verdict_;
    Met met_;
};

}  // namespace detail
}  // namespace lockstep
