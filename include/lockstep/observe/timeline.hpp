// SPDX-License-Identifier: MIT
/// @file
/// Timeline: what one rank did, and when.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include <lockstep/core/call.hpp>

namespace lockstep {

enum class EventKind : std::uint8_t {
    phase,     ///< forward, backward, a bucket's reduction, the optimizer's step, yours
    call,      ///< a collective, from its beginning to the end of its last exchange
    exchange,  ///< one message out, one in, or both
    wait       ///< part of an exchange or of a call: the other rank had not come yet
};

/// Times are in nanoseconds of a clock that only goes forward.
struct Event {
    EventKind kind = EventKind::phase;
    std::uint8_t lane = 0;    ///< 0: the thread that trains; 1: the one that communicates beside it
    std::int32_t to = -1;     ///< rank that was sent to, if any
    std::int32_t from = -1;   ///< rank that was received from, or waited for
    std::uint64_t bytes = 0;  ///< of the buffer (phase, call) or sent (exchange)
    std::uint64_t received = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::array<char, 24> name{};

    std::string_view title() const noexcept {
        return {name.data(), static_cast<std::size_t>(std::find(name.begin(), name.end(), '\0') - name.begin())};
    }
    std::int64_t duration() const noexcept { return end - begin; }
};

/// Kept in memory until it is merged (observe/merge.hpp): 72 bytes an event. What comes after `limit` events is counted,
/// not kept. Threads of one rank may record at once.
class Timeline {
public:
    explicit Timeline(std::size_t limit = std::size_t{1} << 20) : limit_(limit), owner_(std::this_thread::get_id()) {
        events_.reserve((std::min)(limit, std::size_t{4096}));
    }
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    static std::int64_t now() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    /// From `begin` to now. Names are cut after 24 bytes.
    void record(EventKind kind, std::string_view name, std::int64_t begin, std::uint64_t bytes, std::int32_t to = -1,
                std::int32_t from = -1, std::uint64_t received = 0) {
        Event event{kind, lane(), to, from, bytes, received, begin, now(), {}};
        std::copy_n(name.begin(), (std::min)(name.size(), event.name.size()), event.name.begin());
        const std::lock_guard lock(mutex_);
        if (kind == EventKind::call) {
            call_ = events_.size() < limit_ ? events_.size() : none;
        } else if (kind != EventKind::phase && call_ != none) {
            events_[call_].end = event.end;
        }
        if (events_.size() < limit_) events_.push_back(event);
        else ++dropped_;
    }

    /// All so far, in the order of their ends (calls: of their beginnings).
    std::vector<Event> events() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }
    std::size_t dropped() const {
        const std::lock_guard lock(mutex_);
        return dropped_;
    }
    /// Forgets everything, as after a warm-up.
    void clear() {
        const std::lock_guard lock(mutex_);
        events_.clear();
        dropped_ = 0;
        call_ = none;
    }

private:
    static constexpr std::size_t none = (std::numeric_limits<std::size_t>::max)();

    std::uint8_t lane() const noexcept { return std::this_thread::get_id() == owner_ ? 0 : 1; }

    const std::size_t limit_;
    const std::thread::id owner_;
    mutable std::mutex mutex_;
    std::vector<Event> events_;
    std::size_t dropped_ = 0;
    std::size_t call_ = none;  ///< which event is the call under way
};

}  // namespace lockstep
