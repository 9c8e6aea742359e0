// SPDX-License-Identifier: MIT
/// @file
/// run_threads: a world of threads in one call.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/transport/threads.hpp>

namespace lockstep {

/// Calls `work(Threads)` on `world_size` threads, each with its rank's transport, and returns when all have ended.
///
/// An exception in one rank ends the waits of all others; the first one thrown reaches the caller unchanged.
/// @throws ConfigurationError if `world_size` is less than one
template <class Work>
void run_threads(int world_size, const Work& work, ThreadsOptions options = {}) {
    std::vector<Threads> world = Threads::world(world_size, options);
    std::exception_ptr first;
    bool first_is_echo = false;
    std::mutex mutex;
    const auto record = [&](bool echo) {
        const std::lock_guard lock(mutex);
        if (first && (echo || !first_is_echo)) return;
        first = std::current_exception();
        first_is_echo = echo;
    };
    std::vector<std::thread> threads;
    const auto run = [&](Threads& link) {
        try {
            fail_together(link, [&] { work(link); });
        } catch (const RemoteError&) {
            record(true);  // Another rank's exception: that one itself is to reach the caller.
        } catch (...) {
            record(false);
        }
        link.leave();
    };
    try {
        for (Threads& link : world) threads.emplace_back([&run, &link] { run(link); });
    } catch (const std::exception& error) {
        // Too many threads for this system: those that run already must not wait for the others.
        world.front().fail({ErrorKind::configuration, -1, std::string("cannot start a thread: ") + error.what()});
        for (std::thread& thread : threads) thread.join();
        throw ConfigurationError(std::string("cannot start a thread: ") + error.what());
    }
    for (std::thread& thread : threads) thread.join();
    if (first) std::rethrow_exception(first);
}

}  // namespace lockstep
