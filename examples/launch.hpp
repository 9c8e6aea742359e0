// SPDX-License-Identifier: MIT
/// @file
/// From words of the command line to workers: threads, processes, or a rank of a job that somebody else has started.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>
#ifdef LOCKSTEP_EXAMPLE_MPI
#include <lockstep/adapters/mpi.hpp>
#endif

namespace example {

#ifdef LOCKSTEP_EXAMPLE_MPI
/// mpirun has started the workers already.
inline const std::vector<std::string> transports{"mpi"};
#else
inline const std::vector<std::string> transports{"threads", "tcp", "unix"};
#endif

struct Launch {
    int workers = 4;
    std::string transport = transports.front();
    lockstep::Seconds timeout{60};
    bool workers_given = false;
    bool transport_given = false;
};

/// @throws ConfigurationError if what was asked for contradicts the environment
inline void check(const Launch& launch) {
    using lockstep::ConfigurationError;
    if (!lockstep::LaunchEnvironment::present()) return;
    const auto job = lockstep::LaunchEnvironment::from_env();
    if (launch.workers_given && launch.workers != job.world_size) {
        throw ConfigurationError("--workers \"" + std::to_string(launch.workers) +
                                 "\" contradicts WORLD_SIZE=" + std::to_string(job.world_size));
    }
    if (launch.transport_given && launch.transport == "threads") {
        throw ConfigurationError("--transport \"threads\" cannot join the job that RANK and WORLD_SIZE describe");
    }
}

/// Calls `work(link)` for every worker.
template <class Work>
void run(const Launch& launch, const Work& work) {
    using namespace lockstep;
#ifdef LOCKSTEP_EXAMPLE_MPI
    int count = 0;
    char** arguments = nullptr;
    const MpiSession session(count, arguments);
    Mpi link({.timeout = launch.timeout});
    fail_together(link, [&] { work(link); });
#else
    if (LaunchEnvironment::present()) {
        LaunchEnvironment::from_env().run([&](Sockets link) { work(link); }, {.timeout = launch.timeout});
    } else if (launch.transport == "threads") {
        run_threads(launch.workers, [&](Threads link) { work(link); }, {.timeout = launch.timeout});
    } else {
        const bool tcp = launch.transport == "tcp";
        run_processes(launch.workers, [&](Sockets link) { work(link); },
                      {.sockets = tcp ? LocalSockets::tcp : LocalSockets::unix_domain, .timeout = launch.timeout});
    }
#endif
}

/// Ranks that somebody started by hand must have been told the same.
template <std::size_t Count, class Link>
void agree(const std::array<const char*, Count>& names, const std::array<std::int32_t, Count>& own, Link& link) {
    std::array<std::int32_t, Count> theirs = own;
    lockstep::broadcast(link, std::span<std::int32_t>(theirs));
    for (std::size_t index = 0; index < Count; ++index) {
        if (own[index] == theirs[index]) continue;
        throw lockstep::ConfigurationError(std::string(names[index]) + " is " + std::to_string(own[index]) +
                                               " on rank " + std::to_string(link.rank()) + " and " +
                                               std::to_string(theirs[index]) + " on rank 0",
                                           link.rank());
    }
}

}  // namespace example
