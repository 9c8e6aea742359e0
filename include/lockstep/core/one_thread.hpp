// SPDX-License-Identifier: MIT
/// @file
/// Notices a second thread where there must be one at a time.
#pragma once

#include <atomic>
#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep::detail {

inline std::string two_threads_text(int rank) {
    return "two threads use the transport of rank " + std::to_string(rank) + " at once";
}

/// While it lives, a second one on the same flag throws. No atomic read-modify-write, which would cost more than a tiny
/// collective: of two threads that come at the very same moment both may pass, but not for the length of a call.
class OneThread {
public:
    OneThread(std::atomic<bool>& in_use, int rank) : in_use_(in_use) {
        if (in_use_.load(std::memory_order_relaxed)) throw TransportError(two_threads_text(rank), rank);
        in_use_.store(true, std::memory_order_relaxed);
    }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
    ~OneThread() { in_use_.store(false, std::memory_order_relaxed); }

private:
    std::atomic<bool>& in_use_;
};

}  // namespace lockstep::detail
