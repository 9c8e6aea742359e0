// SPDX-License-Identifier: MIT
/// @file
/// Where connections wait until they have said who they are: a silent or strange one keeps nobody else waiting.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <lockstep/transport/sockets/address.hpp>
#include <lockstep/transport/sockets/messages.hpp>

namespace lockstep::detail {

template <class System>
class Lobby {
public:
    /// Guests must introduce themselves as of this job, and prove that they know `secret` if there is one, within
    /// `patience`.
    Lobby(Descriptor listener, Seconds patience, std::uint64_t job, std::string secret = {})
        : listener_(std::move(listener)),
          patience_(patience),
          job_(job),
          secret_(std::move(secret)),
          most_guests_(share_of_descriptors(most_in_a_burst)) {
        // One that somebody else has opened may be of the blocking kind.
        ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
    }

    int descriptor() const noexcept { return listener_.get(); }
    Descriptor take_listener() noexcept { return std::move(listener_); }
    /// No more guests than this at one time, and no more than a quarter of all descriptors that this process may have.
    void expect_at_most(std::size_t guests) noexcept { most_guests_ = share_of_descriptors(guests); }
    /// Lets in nobody any more; who waits for it is told so by the end of the connection.
    void close() noexcept {
        guests_.clear();
        listener_.reset();
    }

    /// Adds what to poll for: whoever knocks, and guests that may have more to say.
    void watch(std::vector<pollfd>& waits) const {
        waits.push_back({listener_.get(), POLLIN, 0});
        for (const Guest& guest : guests_) waits.push_back({guest.descriptor(), POLLIN, 0});
    }

    /// A guest that has introduced itself, if there is one now. Shows out those whose patience has ended.
    std::optional<Guest> ready() {
        for (std::size_t index = 0; index < guests_.size(); ++index) {
            const auto state = guests_[index].template read<System>(job_, secret_);
            if (state == Guest::State::waiting) continue;
            Guest guest = std::move(guests_[index]);
            guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(index--));
            if (state == Guest::State::ready) return guest;
            if (guest.owes_proof()) refused_ = guest.hello().rank;
        }
        return std::nullopt;
    }

    /// A caller of this job who does not know the secret: the rank that the last one says it is.
    std::optional<int> refused() const noexcept { return refused_; }

    /// The next guest that has introduced itself. Nothing if the deadline passed, or a first caller was refused, or one of
    /// `watched` has something to say: its index is then left in `spoke`.
    std::optional<Guest> next(const Deadline& deadline, std::span<const int> watched,
                              std::optional<std::size_t>& spoke) {
        std::vector<pollfd> waits;
        for (;;) {
            const bool refused_before = refused_.has_value();
            if (auto guest = ready()) return guest;
            if (refused_ && !refused_before) return std::nullopt;
            if (deadline.passed()) return std::nullopt;  // However many knock.
            waits.clear();
            for (const int descriptor : watched) waits.push_back({descriptor, POLLIN, 0});
            watch(waits);
            // The wait ends early when a guest's patience does; it is then shown out.
            Deadline earliest = deadline;
            for (const Guest& guest : guests_) earliest = earlier(earliest, guest.deadline());
            if (!poll_until(waits, earliest)) {
                if (deadline.passed()) return std::nullopt;
                continue;
            }
            for (std::size_t index = 0; index < watched.size(); ++index) {
                if (waits[index].revents == 0) continue;
                spoke = index;
                return std::nullopt;
            }
            if (waits[watched.size()].revents != 0) welcome_all();
        }
    }

    /// Opens the door to all who knock, without waiting. @throws TransportError if this process cannot accept anybody
    void welcome_all() {
        for (std::size_t turn = 0; turn < most_guests_; ++turn) {
            Descriptor accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (accepted) {
                const int one = 1;
                ::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                guests_.emplace_back(std::move(accepted), Deadline::after(patience_));
                if (guests_.size() > most_guests_ && !make_room()) return;
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return;
            } else if ((errno == EMFILE || errno == ENFILE) && !guests_.empty()) {
                if (!make_room()) return;  // They are to be heard first.
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM || errno == EBADF ||
                       errno == EINVAL || errno == ENOTSOCK || errno == EOPNOTSUPP) {
                throw TransportError(system_text("accept", errno));  // No connection to come will be accepted either.
            }
            // Anything else concerns one connection that broke before it was accepted.
        }
    }

    /// Shows out whoever has been here for longest of those that have been heard, and have more to say. False if all are
    /// still to be heard: they may be ranks.
    bool make_room() {
        const auto oldest =
            std::find_if(guests_.begin(), guests_.end(), [](const Guest& each) { return each.heard(); });
        if (oldest == guests_.end()) return false;
        guests_.erase(oldest);
        return true;
    }

private:
    /// More than a large job's ranks in a burst; of strangers there may be any number.
    static constexpr std::size_t most_in_a_burst = 4096;

    static std::size_t share_of_descriptors(std::size_t guests) noexcept {
        rlimit limit{};
        if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return guests;
        return (std::max)(std::size_t{8}, (std::min)(guests, static_cast<std::size_t>(limit.rlim_cur) / 4));
    }

    Descriptor listener_;
    Seconds patience_;
    std::uint64_t job_;
    std::string secret_;
    std::size_t most_guests_;
    std::vector<Guest> guests_;
    std::optional<int> refused_;
};

}  // namespace lockstep::detail
