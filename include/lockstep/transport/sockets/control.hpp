// SPDX-License-Identifier: MIT
/// @file
/// News between ranks: a star of control connections round rank 0, apart from the data, so that it never waits behind
/// half a message.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>

#include <lockstep/transport/sockets/messages.hpp>
#include <lockstep/transport/sockets/verdict.hpp>

namespace lockstep::detail {

template <class System>
class Control {
public:
    /// `connections`: by rank, all at rank 0, that to rank 0 elsewhere.
    Control(int rank, std::vector<Descriptor> connections)
        : rank_(rank), connections_(std::move(connections)), waits_(connections_.size()) {}
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    /// A rank that ends says so: its silence afterwards is then no loss. Waits for nothing.
    ~Control() {
        tell_all([] { return control_frame(FrameKind::goodbye, {}); });
    }

    /// Adds what to poll for; `news` is asked when one of them is ready.
    void watch(std::vector<pollfd>& waits) const {
        for (const Descriptor& each : connections_) {
            if (each) waits.push_back({each.get(), POLLIN, 0});
        }
    }

    /// Reads what is there: the first failure, if any. Ranks that say goodbye are no longer watched.
    std::optional<Failure> news() {
        for (std::size_t rank = 0; rank < connections_.size(); ++rank) {
            Descriptor& each = connections_[rank];
            if (!each || !poll_until(each.get(), POLLIN, Deadline::after(Seconds{0}))) continue;
            const auto message = read_message<System>(each.get(), Deadline::after(Seconds{1}));
            if (message && message->kind() == FrameKind::goodbye) {
                each.reset();
            } else if (message && message->kind() == FrameKind::inquiry && rank == 0) {
                asked_ = true;
            } else if (message && message->kind() == FrameKind::waiting && message->payload.size() == 4) {
                if (late_ < 0) late_ = static_cast<int>(rank);
                waits_[rank] = Waiting{static_cast<std::int32_t>(get(message->payload.data(), 4)),
                                       message->header.sequence, message->header.request};
            } else {
                return failure_in(message, static_cast<int>(rank));
            }
        }
        return std::nullopt;
    }

    /// What is known of the loss of a peer, after waiting a moment: the reason often comes just after the silence.
    std::optional<Failure> reason(const Deadline& moment) {
        return news_until(moment, [] { return false; });
    }

    /// Does a rank ask for a verdict, or rank 0 for an answer? `own` is what this rank waits for.
    /// @return the verdict, at rank 0
    std::optional<Failure> respond(const Waiting& own, Seconds timeout) {
        if (std::exchange(asked_, false)) tell_all([&] { return frame_of(own); });
        if (rank_ == 0 && late_ >= 0) return verdict(own, timeout);
        return std::nullopt;
    }

    /// This rank's deadline has passed, or it knows of another's: who is to blame? Takes a second at most.
    Failure verdict(const Waiting& own, Seconds timeout) {
        waits_[static_cast<std::size_t>(rank_)] = own;
        if (late_ < 0) late_ = rank_;
        if (rank_ != 0) {
            tell_all([&] { return frame_of(own); });
            if (!connections_[0]) return verdict_on(rank_, timeout, waits_);  // It has left: nobody can be asked.
            if (auto known = reason(Deadline::after(2 * verdict_patience))) return *known;
            return {ErrorKind::timeout, 0,
                    waited_text(rank_, timeout, own) + "; rank 0 is in no collective, or stopped, or cut off"};
        }
        tell_all([] { return control_frame(FrameKind::inquiry, {}); });
        const auto all_have_answered = [&] {
            for (std::size_t rank = 1; rank < connections_.size(); ++rank) {
                if (connections_[rank] && !waits_[rank]) return false;
            }
            return true;
        };
        if (auto known = news_until(Deadline::after(verdict_patience), all_have_answered)) return *known;
        return verdict_on(late_, timeout, waits_);
    }

    /// Tells all that can be told. Waits for nobody: who does not read it finds the connection closed.
    void announce(const Failure& failure) noexcept {
        tell_all([&] { return encode(failure); });
    }

private:
    static std::vector<std::byte> frame_of(const Waiting& waiting) {
        std::vector<std::byte> payload;
        append(payload, static_cast<std::uint32_t>(waiting.peer), 4);
        return control_frame(
            Header{.kind = FrameKind::waiting, .request = waiting.request, .sequence = waiting.sequence}, payload);
    }

    /// The first failure that becomes known until `moment`, or until `enough()`.
    template <class Enough>
    std::optional<Failure> news_until(const Deadline& moment, const Enough& enough) {
        std::vector<pollfd> waits;
        while (!enough()) {
            if (auto failure = news()) return failure;
            waits.clear();
            watch(waits);
            if (waits.empty() || enough() || !poll_until(waits, moment)) return std::nullopt;
        }
        return std::nullopt;
    }

    template <class Compose>
    void tell_all(const Compose& compose) noexcept {
        try {
            const std::vector<std::byte> frame = compose();
            const Deadline now = Deadline::after(Seconds{0});
            for (const Descriptor& each : connections_) {
                if (each) write_all<System>(each.get(), frame, now);
            }
        } catch (...) {
            return;  // No memory for the news: closing the connections must say it.
        }
    }

    int rank_;
    std::vector<Descriptor> connections_;
    std::vector<std::optional<Waiting>> waits_;  ///< at rank 0: by rank, what it has said to wait for
    int late_ = -1;                              ///< the first whose deadline has passed
    bool asked_ = false;
};

}  // namespace lockstep::detail
