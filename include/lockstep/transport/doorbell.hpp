// SPDX-License-Identifier: MIT
/// @file
/// How a thread waits for others: it spins for a moment, then sleeps until somebody rings or the deadline passes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <lockstep/core/deadline.hpp>

namespace lockstep::detail {

/// Turns to spin before sleeping: a few microseconds when every rank has a core of its own, none otherwise, since a
/// spinning rank would then keep the one it waits for from running.
inline int spins_for(int ranks) {
    return static_cast<unsigned>(ranks) <= std::thread::hardware_concurrency() ? 400 : 0;
}

inline void pause_spinning() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// One waiting thread, any number of ringing ones.
///
/// The waiter's condition must read sequentially consistent atomics, and whoever makes it true must store with
/// sequential consistency before ringing: then either the ringer sees the sleeper or the sleeper the new value.
class Doorbell {
public:
    /// Is `condition()` true at once, or within some turns?
    template <class Condition>
    static bool spin(const Condition& condition, int turns) {
        for (int turn = 0; turn < turns; ++turn) {
            if (condition()) return true;
            pause_spinning();
        }
        return condition();
    }

    /// Sleeps until `condition()`; false if the deadline passed first.
    template <class Condition>
    bool sleep(const Condition& condition, const Deadline& deadline) {
        std::unique_lock lock(mutex_);
        sleeping_.store(true);
        bool met = condition();
        while (!met && rung_.wait_until(lock, deadline.time()) != std::cv_status::timeout) met = condition();
        met = met || condition();
        sleeping_.store(false);
        return met;
    }

    template <class Condition>
    bool wait(const Condition& condition, int spins, const Deadline& deadline) {
        return spin(condition, spins) || sleep(condition, deadline);
    }

    void ring() {
        if (!sleeping_.load()) return;
        // Taking the lock once makes sure that the sleeper is in its wait, not just before it.
        { const std::lock_guard lock(mutex_); }
        rung_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable rung_;
    std::atomic<bool> sleeping_{false};
};

}  // namespace lockstep::detail
