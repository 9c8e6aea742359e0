// SPDX-License-Identifier: MIT
/// @file
/// Timing what several ranks do together: the time of an iteration is that of the slowest rank, from the moment at
/// which all were ready.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include <benchmark/benchmark.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/run/threads.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

namespace bench {

struct OverThreads {
    static constexpr const char* name = "threads";
    template <class Work>
    static void run(int world_size, const Work& work) {
        lockstep::run_threads(world_size, [&](lockstep::Threads link) { work(link); });
    }
};

/// Each rank is a thread here too, but its bytes go through the kernel.
template <lockstep::LocalSockets Kind>
struct OverSockets {
    static constexpr const char* name = Kind == lockstep::LocalSockets::tcp ? "tcp" : "unix";
    template <class Work>
    static void run(int world_size, const Work& work) {
        lockstep::detail::LocalMeeting meeting(world_size, Kind);
        std::vector<lockstep::SocketsOptions> options;
        for (int rank = 0; rank < world_size; ++rank) options.push_back(meeting.options(rank));
        lockstep::run_threads(world_size, [&](lockstep::Threads thread) {
            lockstep::Sockets link(options[static_cast<std::size_t>(thread.rank())]);
            lockstep::fail_together(link, [&] { work(link); });
        });
    }
};
using OverTcp = OverSockets<lockstep::LocalSockets::tcp>;
using OverUnix = OverSockets<lockstep::LocalSockets::unix_domain>;

/// Runs `prepare()` (untimed) and `work()` (timed) on every rank, as often as rank 0's `state` wants.
template <class Link, class Prepare, class Work>
void iterate(benchmark::State& state, Link& link, const Prepare& prepare, const Work& work) {
    for (;;) {
        std::uint8_t wanted = link.rank() == 0 && state.KeepRunning() ? 1 : 0;
        lockstep::broadcast(link, std::span(&wanted, 1));
        if (wanted == 0) return;
        prepare();
        lockstep::barrier(link);
        const auto start = std::chrono::steady_clock::now();
        work();
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        lockstep::all_reduce<lockstep::Tree>(link, std::span(&seconds, 1), lockstep::Max{});
        if (link.rank() == 0) state.SetIterationTime(seconds);
    }
}

/// Is `fine` on every rank? The same answer on all.
template <class Link>
bool everywhere(Link& link, bool fine) {
    std::int32_t all = fine ? 1 : 0;
    lockstep::all_reduce<lockstep::Tree>(link, std::span(&all, 1), lockstep::Min{});
    return all == 1;
}

}  // namespace bench
