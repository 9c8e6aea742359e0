// SPDX-License-Identifier: MIT
/// @file
/// Sockets with deadlines: an owned descriptor, and reading and writing that survive signals and partial transfers.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lockstep/core/deadline.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep {

/// The system calls by which bytes move: a policy, so that tests can put a stingy or failing layer in their place.
struct SystemCalls {
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        return ::sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        return ::recvmsg(descriptor, &message, MSG_DONTWAIT);
    }
};

namespace detail {

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }
    /// Gives the descriptor away; the caller closes it.
    int release() noexcept { return std::exchange(number_, -1); }
    void reset() noexcept {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

private:
    int number_ = -1;
};

/// What became of one attempt to move bytes: how many moved, or that none can now, or that none ever will.
struct Moved {
    enum class State { some, blocked, closed } state = State::blocked;
    std::size_t bytes = 0;
    int error = 0;  ///< errno, if closed by an error
};

/// Makes one system call, again if a signal interrupted it: it has moved nothing then.
template <class SystemCall>
Moved move_bytes(const SystemCall& call, bool zero_is_end) noexcept {
    ssize_t result = call();
    while (result < 0 && errno == EINTR) result = call();
    if (result > 0 || (result == 0 && !zero_is_end)) return {Moved::State::some, static_cast<std::size_t>(result), 0};
    if (result == 0) return {Moved::State::closed, 0, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {Moved::State::blocked, 0, 0};
    return {Moved::State::closed, 0, errno};
}

/// Sends the unsent rest of two pieces in one call: `done` bytes of them are already on their way.
template <class System>
Moved send_some(int descriptor, std::span<const std::byte> first, std::span<const std::byte> second,
                std::size_t done) noexcept {
    iovec pieces[2];
    std::size_t count = 0;
    const auto add = [&](std::span<const std::byte> piece, std::size_t skip) {
        if (skip < piece.size()) {
            pieces[count++] = {const_cast<std::byte*>(piece.data()) + skip, piece.size() - skip};
        }
    };
    add(first, done);
    add(second, done > first.size() ? done - first.size() : 0);
    if (count == 0) return {Moved::State::some, 0, 0};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    return move_bytes([&] { return System::send(descriptor, message); }, false);
}

/// Receives at most the sizes of both pieces, in one call, the first piece first.
template <class System>
Moved receive_some(int descriptor, std::span<std::byte> first, std::span<std::byte> second = {}) noexcept {
    iovec pieces[2];
    std::size_t count = 0;
    if (!first.empty()) pieces[count++] = {first.data(), first.size()};
    if (!second.empty()) pieces[count++] = {second.data(), second.size()};
    if (count == 0) return {Moved::State::some, 0, 0};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    return move_bytes([&] { return System::receive(descriptor, message); }, true);
}

/// Waits for one of `waits`; false if the deadline passed first. Signals do not extend it.
inline bool poll_until(std::span<pollfd> waits, const Deadline& deadline) {
    for (;;) {
        const int ready = ::poll(waits.data(), static_cast<nfds_t>(waits.size()), deadline.milliseconds_left());
        if (ready > 0) return true;
        if (ready == 0 && deadline.passed()) return false;
        if (ready < 0 && errno != EINTR) throw TransportError(std::string("poll: ") + std::strerror(errno));
        if (ready < 0 && deadline.passed()) return false;
    }
}

inline bool poll_until(int descriptor, short events, const Deadline& deadline) {
    pollfd wait{descriptor, events, 0};
    return poll_until({&wait, 1}, deadline);
}

/// Writes all of `bytes`; false if the other side is gone or the deadline passed.
template <class System>
bool write_all(int descriptor, std::span<const std::byte> bytes, const Deadline& deadline) {
    for (std::size_t done = 0; done < bytes.size();) {
        const Moved step = send_some<System>(descriptor, bytes, {}, done);
        done += step.bytes;
        if (step.state == Moved::State::closed) return false;
        if (step.state == Moved::State::blocked && !poll_until(descriptor, POLLOUT, deadline)) return false;
    }
    return true;
}

/// Fills all of `bytes`; false if the other side is gone or the deadline passed.
template <class System>
bool read_all(int descriptor, std::span<std::byte> bytes, const Deadline& deadline) {
    for (std::size_t done = 0; done < bytes.size();) {
        const Moved step = receive_some<System>(descriptor, bytes.subspan(done));
        done += step.bytes;
        if (step.state == Moved::State::closed) return false;
        if (step.state == Moved::State::blocked && !poll_until(descriptor, POLLIN, deadline)) return false;
    }
    return true;
}

}  // namespace detail
}  // namespace lockstep
