// SPDX-License-Identifier: MIT
/// @file
/// A point in time after which waiting is an error.
#pragma once

#include <chrono>
#include <climits>
#include <string>

#include <time.h>

#include <lockstep/core/config.hpp>

namespace lockstep {

using Seconds = std::chrono::duration<double>;

/// `1.5 s`, to the millisecond.
inline std::string to_string(Seconds span) {
    std::string text = std::to_string(span.count());
    text.resize(text.size() - 3);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

/// A moment on the steady clock. Signals and restarted system calls do not move it.
class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    static Deadline after(Seconds span) { return after(span, Clock::now()); }

    /// The same, give or take some ticks of the system, for a tenth of the cost: for what is done in microseconds.
    static Deadline soon_after(Seconds span) {
#if defined(CLOCK_MONOTONIC_COARSE)
        timespec tick{};
        ::clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
        // The last tick of the clock: at most 10 ms ago.
        const auto now = std::chrono::seconds(tick.tv_sec) + std::chrono::nanoseconds(tick.tv_nsec);
        return after(span, Clock::time_point(now) + std::chrono::milliseconds(10));
#else
        return after(span);
#endif
    }

    Clock::time_point time() const noexcept { return time_; }
    bool passed() const { return Clock::now() >= time_; }

    /// What is left, for poll(2): rounded up, so that a wait never ends early and spins.
    int milliseconds_left() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(time_ - Clock::now()).count();
        if (left <= 0) return 0;
        return left < INT_MAX ? static_cast<int>(left) : INT_MAX;
    }

private:
    explicit Deadline(Clock::time_point time) noexcept : time_(time) {}

    static Deadline after(Seconds span, Clock::time_point now) {
        // A year is as good as for ever, less than nothing as nothing; both keep the sum inside the clock's range.
        const Seconds bounded = span < Seconds{3.2e7} ? span : Seconds{3.2e7};
        const Seconds ahead = bounded > Seconds{0} ? bounded : Seconds{0};
        return Deadline{now + std::chrono::duration_cast<Clock::duration>(ahead)};
    }

    Clock::time_point time_;
};

inline const Deadline& earlier(const Deadline& left, const Deadline& right) noexcept {
    return left.time() < right.time() ? left : right;
}

}  // namespace lockstep
