// SPDX-License-Identifier: MIT
/// @file
/// Bad news between ranks: a star of control connections round rank 0, apart from the data, so that it never waits
/// behind half a message.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>

#include <lockstep/transport/sockets/messages.hpp>

namespace lockstep::detail {

template <class System>
class Control {
public:
    explicit Control(std::vector<Descriptor> connections) : connections_(std::move(connections)) {}
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
            if (message && message->kind == FrameKind::goodbye) {
                each.reset();
                continue;
            }
            return failure_in(message, static_cast<int>(rank));
        }
        return std::nullopt;
    }

    /// What is known of the loss of `peer`, after waiting a moment: the reason often comes just after the silence.
    std::optional<Failure> reason(Deadline moment) {
        for (;;) {
            if (auto failure = news()) return failure;
            std::vector<pollfd> waits;
            watch(waits);
            if (waits.empty() || !poll_until(waits, moment)) return std::nullopt;
        }
    }

    /// Tells all that can be told. Waits for nobody: who does not read it finds the connection closed.
    void announce(const Failure& failure) noexcept {
        tell_all([&] { return encode(failure); });
    }

private:
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

    std::vector<Descriptor> connections_;
};

}  // namespace lockstep::detail
