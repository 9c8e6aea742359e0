// SPDX-License-Identifier: MIT
/// @file
/// Worlds for tests: each rank a thread of the test, over any transport. What goes wrong on a rank is gathered and
/// asserted on the main thread, because Boost.Test is not thread-safe.
#pragma once

#include <array>
#include <exception>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>
#include <lockstep/transport/threads.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace test {

/// World sizes that every test of ranks runs: powers of two hide bugs. Races show with fewer ranks, and ThreadSanitizer
/// takes minutes for eight.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::array worlds{1, 2, 3, 5};
#else
inline constexpr std::array worlds{1, 2, 3, 4, 5, 8};
#endif

/// How one rank ended.
struct Outcome {
    bool threw = false;
    bool is_error = false;  ///< the exception was a lockstep::Error
    lockstep::ErrorKind kind{};
    int rank = -1;  ///< the rank at fault, as the error has it
    std::string message;
};

/// Throws, naming the line, if a condition does not hold: for code that runs on a rank.
inline void expect(bool condition, const std::string& what, int line = __builtin_LINE()) {
    if (!condition) throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}

template <class Body>
Outcome outcome_of(const Body& body) {
    try {
        body();
        return {};
    } catch (const lockstep::Error& error) {
        return {true, true, error.kind(), error.rank(), error.what()};
    } catch (const std::exception& error) {
        return {true, false, {}, -1, error.what()};
    }
}

/// Runs `body(rank)` on one thread a rank.
template <class Body>
std::vector<Outcome> on_ranks(int world_size, const Body& body) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(world_size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
        threads.emplace_back([&, rank] { outcomes[static_cast<std::size_t>(rank)] = outcome_of([&] { body(rank); }); });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
}

/// What a test may want to set of its transport: usually the first.
struct Settings {
    Settings(lockstep::Seconds until_error = lockstep::Seconds{30}) : timeout(until_error) {}

    lockstep::Seconds timeout;
    lockstep::Seconds slow_after{10};
    void (*report)(const std::string& line) = lockstep::report_to_stderr;
    int socket_buffer_bytes = 0;
};

struct OverThreads {
    using link_type = lockstep::Threads;
    static constexpr const char* name = "threads";

    template <class Work>
    static std::vector<Outcome> run(int world_size, const Work& work, const Settings& settings = {}) {
        auto world = lockstep::Threads::world(
            world_size, {.timeout = settings.timeout, .slow_after = settings.slow_after, .report = settings.report});
        return on_ranks(world_size, [&](int rank) {
            lockstep::Threads& link = world[static_cast<std::size_t>(rank)];
            struct Leave {
                lockstep::Threads& link;
                ~Leave() { link.leave(); }
            } const leave{link};
            lockstep::fail_together(link, [&] { work(link); });
        });
    }
};

/// Sockets between threads of one process: the same connections as between processes, and a debugger sees both ends.
template <lockstep::LocalSockets Kind, class System = lockstep::SystemCalls,
          class Link = lockstep::BasicSockets<System>>
struct OverSockets {
    using link_type = Link;
    static constexpr const char* name = Kind == lockstep::LocalSockets::tcp ? "tcp" : "unix";

    template <class Work>
    static std::vector<Outcome> run(int world_size, const Work& work, const Settings& settings = {}) {
        lockstep::detail::LocalMeeting meeting(world_size, Kind);
        std::vector<lockstep::SocketsOptions> options;
        for (int rank = 0; rank < world_size; ++rank) {
            options.push_back(meeting.options(rank));
            options.back().timeout = settings.timeout;
            options.back().slow_after = settings.slow_after;
            options.back().report = settings.report;
            options.back().socket_buffer_bytes = settings.socket_buffer_bytes;
        }
        return on_ranks(world_size, [&](int rank) {
            link_type link(options[static_cast<std::size_t>(rank)]);
            lockstep::fail_together(link, [&] { work(link); });
        });
    }
};

using OverTcp = OverSockets<lockstep::LocalSockets::tcp>;
using OverUnix = OverSockets<lockstep::LocalSockets::unix_domain>;
using Transports = boost::mpl::list<OverThreads, OverTcp, OverUnix>;

/// Asserts that every rank ended without an exception.
inline void check_all_well(const std::vector<Outcome>& outcomes) {
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
        BOOST_TEST(!outcomes[rank].threw, "rank " << rank << " threw: " << outcomes[rank].message);
    }
}

/// Asserts that every rank threw a lockstep error whose text has `part` in it.
inline void check_all_threw(const std::vector<Outcome>& outcomes, const std::string& part) {
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
        BOOST_TEST(outcomes[rank].threw, "rank " << rank << " threw nothing");
        BOOST_TEST(outcomes[rank].message.find(part) != std::string::npos,
                   "rank " << rank << " threw \"" << outcomes[rank].message << "\" without \"" << part << "\"");
    }
}

}  // namespace test
