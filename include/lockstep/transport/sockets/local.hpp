// SPDX-License-Identifier: MIT
/// @file
/// Where the ranks of one host meet: a socket that is open before any of them starts, so that no port is guessed.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

#include <lockstep/transport/sockets/address.hpp>
#include <lockstep/transport/sockets/rendezvous.hpp>
#include <lockstep/transport/sockets/secret.hpp>

namespace lockstep {

/// What joins the processes of one host.
enum class LocalSockets { unix_domain, tcp };

namespace detail {

/// A directory of our own for socket names; nobody else can enter it. Gone with this object.
class PrivateDirectory {
public:
    PrivateDirectory() {
        const char* const base = std::getenv("TMPDIR");
        path_ = std::string(base != nullptr && *base != 0 ? base : "/tmp") + "/lockstep-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) throw TransportError(system_text("mkdtemp " + path_, errno));
    }
    PrivateDirectory(const PrivateDirectory&) = delete;
    PrivateDirectory& operator=(const PrivateDirectory&) = delete;
    ~PrivateDirectory() {
        for (const std::string& name : names_) ::unlink(name.c_str());
        ::rmdir(path_.c_str());
    }

    /// The address of a socket for rank 0; it and the names that the other ranks derive from it go at the end.
    std::string socket(int world_size) {
        names_.push_back(path_ + "/socket");
        for (int rank = 1; rank < world_size; ++rank) names_.push_back(path_ + "/socket." + std::to_string(rank));
        return std::string(unix_prefix) + names_.front();
    }

private:
    std::string path_;
    std::vector<std::string> names_;
};

/// Opens rank 0's listening socket, at a free port of the loopback address or in a private directory.
class LocalMeeting {
public:
    LocalMeeting(int world_size, LocalSockets sockets) {
        options_.world_size = world_size;
        if (world_size < 2) return;
        if (sockets == LocalSockets::unix_domain) options_.address = directory_.emplace().socket(world_size);
        else options_.address = "127.0.0.1:0";
        listener_ = listen_at(options_.address, 0);
        options_.address = to_text(local_address(listener_.get()));
        // Any user of this host can reach a port.
        const Challenge random = random_challenge();
        options_.secret.assign(reinterpret_cast<const char*>(random.data()), random.size());
    }

    /// What `rank` needs to join. Rank 0's options hold the listening socket: ask for them once.
    SocketsOptions options(int rank) {
        SocketsOptions own = options_;
        own.rank = rank;
        if (rank == 0) own.listener = listener_.release();
        return own;
    }

    /// Closes the listening socket here: the process of rank 0 has its own copy.
    void close() noexcept { listener_.reset(); }

private:
    std::optional<PrivateDirectory> directory_;
    SocketsOptions options_;
    Descriptor listener_;
};

}  // namespace detail
}  // namespace lockstep
