// SPDX-License-Identifier: MIT
/// @file
/// Addresses as text ("127.0.0.1:29500", "[::1]:29500", "unix:/path"), and listening at and connecting to them.
#pragma once

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <lockstep/core/deadline.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/transport/sockets/io.hpp>

namespace lockstep::detail {

inline constexpr std::string_view unix_prefix = "unix:";

inline bool is_unix(std::string_view address) noexcept { return address.starts_with(unix_prefix); }

inline std::string system_text(const std::string& what, int error) { return what + ": " + std::strerror(error); }

/// A socket address of any family.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const noexcept { return storage.ss_family; }
};

inline SocketAddress unix_address(const std::string& address) {
    const std::string path = address.substr(unix_prefix.size());
    sockaddr_un name{};
    if (path.empty() || path.size() >= sizeof name.sun_path) {
        throw ConfigurationError("the socket path \"" + path + "\" has " + std::to_string(path.size()) +
                                 " characters; 1 to " + std::to_string(sizeof name.sun_path - 1) + " are possible");
    }
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.data(), path.size());
    SocketAddress result;
    std::memcpy(&result.storage, &name, sizeof name);
    result.size = sizeof name;
    return result;
}

/// All addresses that `address` stands for. Empty if the name cannot be looked up at the moment.
/// @throws ConfigurationError if it can never be
inline std::vector<SocketAddress> resolve(const std::string& address, int flags = 0) {
    if (is_unix(address)) return {unix_address(address)};
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) throw ConfigurationError("the address \"" + address + "\" names no port");
    std::string host = address.substr(0, colon);
    const std::string port = address.substr(colon + 1);
    // getaddrinfo would take a number that is too large modulo 65536.
    int number = -1;
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != port.data() + port.size() || number < 0 || number > 65535) {
        throw ConfigurationError("the address \"" + address + "\" names no port from 0 to 65535");
    }
    if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    addrinfo* found = nullptr;
    const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (code == EAI_AGAIN) return {};
    if (code != 0) {
        throw ConfigurationError("the address \"" + address + "\" cannot be resolved: " + ::gai_strerror(code));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> release(found, &::freeaddrinfo);
    std::vector<SocketAddress> results;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        SocketAddress result;
        std::memcpy(&result.storage, each->ai_addr, each->ai_addrlen);
        result.size = each->ai_addrlen;
        results.push_back(result);
    }
    return results;
}

/// The address that a peer has named: a number, nothing is looked up. Empty if it is none.
inline std::optional<SocketAddress> numeric(const std::string& address) {
    try {
        const auto found = resolve(address, AI_NUMERICHOST);
        return found.empty() ? std::nullopt : std::optional(found.front());
    } catch (const ConfigurationError&) {
        return std::nullopt;
    }
}

/// `127.0.0.1:29500` or `[::1]:29500`: always numeric, so that nobody has to look it up again.
inline std::string to_text(const SocketAddress& address) {
    if (address.family() == AF_UNIX) {
        return std::string(unix_prefix) + reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path;
    }
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    const int code = ::getnameinfo(address.get(), address.size, host, sizeof host, port, sizeof port,
                                   NI_NUMERICHOST | NI_NUMERICSERV);
    if (code != 0) throw TransportError(std::string("getnameinfo: ") + ::gai_strerror(code));
    const bool v6 = address.family() == AF_INET6;
    return (v6 ? "[" : "") + std::string(host) + (v6 ? "]:" : ":") + port;
}

inline bool is_loopback(const SocketAddress& address) noexcept {
    if (address.family() == AF_INET) {
        return ntohl(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr) >> 24 == 127;
    }
    if (address.family() == AF_INET6) {
        const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
    }
    return true;
}

/// What `ask`, getsockname or getpeername, says of this end or the other.
template <class Ask>
SocketAddress asked_address(const char* name, const Ask& ask, int descriptor) {
    SocketAddress address;
    address.size = sizeof address.storage;
    if (ask(descriptor, address.get(), &address.size) != 0) throw TransportError(system_text(name, errno));
    return address;
}
inline SocketAddress local_address(int descriptor) { return asked_address("getsockname", ::getsockname, descriptor); }
inline SocketAddress remote_address(int descriptor) { return asked_address("getpeername", ::getpeername, descriptor); }

/// 0 leaves the kernel's sizes alone.
inline void set_buffers(int descriptor, int bytes) noexcept {
    if (bytes <= 0) return;
    ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/// A non-blocking socket, closed in programs that this one starts.
inline Descriptor open_socket(int family, int buffer_bytes) {
    Descriptor opened(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!opened) return opened;
    const int one = 1;
    if (family != AF_UNIX) ::setsockopt(opened.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    set_buffers(opened.get(), buffer_bytes);
    return opened;
}

/// Is `address` the name of a Unix domain socket that a dead process has left behind?
inline bool is_stale(const SocketAddress& address) {
    if (address.family() != AF_UNIX) return false;
    // Connecting to a plain file is refused as well, but that is nobody's to remove.
    struct stat status {};
    const char* const path = reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path;
    if (::lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    const Descriptor probe = open_socket(AF_UNIX, 0);
    return probe && ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
}

/// Takes the name of a Unix domain socket out of the file system: connections made by it stay.
inline void remove_name(const std::string& address) noexcept {
    if (is_unix(address)) ::unlink(address.c_str() + unix_prefix.size());
}

/// Listens at the first address that `address` stands for and that this host has. Port 0 lets the kernel choose.
/// @throws TransportError naming the address: at once if it is taken
inline Descriptor listen_at(const std::string& address, int buffer_bytes) {
    int error = EADDRNOTAVAIL;
    for (const SocketAddress& candidate : resolve(address)) {
        Descriptor opened = open_socket(candidate.family(), buffer_bytes);
        error = errno;
        if (!opened) continue;
        const int one = 1;
        // Lets a restarted job reuse a port in TIME_WAIT; a port with a live listener stays taken.
        if (candidate.family() != AF_UNIX) ::setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        const auto bound = [&] { return ::bind(opened.get(), candidate.get(), candidate.size) == 0; };
        bool taken = !bound();
        error = errno;
        if (taken && error == EADDRINUSE && is_stale(candidate)) {
            remove_name(address);
            taken = !bound();
            error = errno;
        }
        if (!taken && ::listen(opened.get(), SOMAXCONN) == 0) return opened;
        if (!taken) error = errno;
        if (error == EADDRINUSE) break;
    }
    throw TransportError("cannot listen at " + system_text(address, error) +
                         (error == EADDRINUSE ? " (another job, or this rank claimed twice)" : ""));
}

/// Begins to connect, without waiting: `finish_connecting` says what came of it once the descriptor is writable. Empty
/// if nothing ever will.
inline Descriptor start_connecting(const SocketAddress& address, int buffer_bytes, int& error) {
    Descriptor opened = open_socket(address.family(), buffer_bytes);
    error = errno;
    if (!opened) return opened;
    error = ::connect(opened.get(), address.get(), address.size) == 0 ? 0 : errno;
    return error == 0 || error == EINPROGRESS || error == EINTR ? std::move(opened) : Descriptor();
}

/// 0 if the connection stands, or else why it does not.
inline int finish_connecting(int descriptor, const SocketAddress& address) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0 || address.family() == AF_UNIX) return error;
    // A connection to an unused local port can, by chance, be answered by itself.
    const SocketAddress mine = local_address(descriptor);
    return mine.size == address.size && to_text(mine) == to_text(address) ? ECONNREFUSED : 0;
}

/// One attempt at one address; an empty descriptor if it fails.
inline Descriptor try_connect(const SocketAddress& address, int buffer_bytes, const Deadline& deadline, int& error) {
    Descriptor opened = start_connecting(address, buffer_bytes, error);
    if (!opened) return opened;
    error = poll_until(opened.get(), POLLOUT, deadline) ? finish_connecting(opened.get(), address) : ETIMEDOUT;
    return error == 0 ? std::move(opened) : Descriptor();
}

/// Connects to any of the addresses that `address` stands for; tries again until the deadline, since whoever listens
/// may not be up yet.
/// @throws TimeoutError naming the address and the last reason
inline Descriptor connect_to(const std::string& address, int buffer_bytes, const Deadline& deadline) {
    int error = 0;
    for (int pause = 1;; pause = pause < 50 ? pause * 2 : 50) {
        const auto candidates = resolve(address);
        for (const SocketAddress& candidate : candidates) {
            if (Descriptor opened = try_connect(candidate, buffer_bytes, deadline, error)) return opened;
        }
        if (deadline.passed()) {
            throw TimeoutError("nobody answers at " + (candidates.empty() ? address + ": the name cannot be looked up"
                                                                          : system_text(address, error)));
        }
        ::poll(nullptr, 0, pause);
    }
}

}  // namespace lockstep::detail
