// SPDX-License-Identifier: MIT
/// @file
/// B21: a peer dies or stalls in the middle of a collective. Real processes, killed or stopped at a system call taken at
/// random; survivors must end in time with an error that names the lost rank, whoever was waiting for whom.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include <boost/test/unit_test.hpp>

#include "support/any_reducer.hpp"
#include "support/descriptors.hpp"
#include "support/processes.hpp"

namespace {

using namespace lockstep;

constexpr Seconds timeout{1};

/// LOCKSTEP_ROUNDS asks for more.
int rounds(int usual) {
    const char* const asked = std::getenv("LOCKSTEP_ROUNDS");
    return asked != nullptr ? std::atoi(asked) : usual;
}

/// Strikes this process at its call number `after`, if that is not negative.
struct Struck : SystemCalls {
    static inline int after = -1;
    static inline int signal = 0;

    static void count() noexcept {
        if (after >= 0 && after-- == 0) ::kill(::getpid(), signal);
    }
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        count();
        return SystemCalls::send(descriptor, message);
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        count();
        return SystemCalls::receive(descriptor, message);
    }
};

template <class Link>
void reduce_and_check(Link& link, int topology, std::size_t length) {
    std::vector<std::int32_t> values(length, link.rank() + 1);
    switch (topology) {
        case 0: all_reduce<Naive>(link, std::span(values)); break;
        case 1: all_reduce<Tree>(link, std::span(values)); break;
        case 2: all_reduce<HalvingDoubling>(link, std::span(values)); break;
        default: all_reduce<Ring>(link, std::span(values)); break;
    }
    const std::int32_t sum = link.world_size() * (link.world_size() + 1) / 2;
    for (const std::int32_t value : values) test::expect(value == sum, "a wrong number");
}

SocketsOptions with_deadlines(SocketsOptions options) {
    options.timeout = timeout;
    options.join_timeout = Seconds{20};
    return options;
}

BOOST_AUTO_TEST_CASE(survivors_end_in_time_and_name_the_lost) {
    Random random(2026);
    for (int round = 0; round < rounds(8); ++round) {
        const int world = 2 + static_cast<int>(random() % 7);
        const int victim = static_cast<int>(random() % static_cast<std::uint64_t>(world));
        const int topology = static_cast<int>(random() % 4);
        const int strike = static_cast<int>(random() % 400);
        const std::size_t length = random() % 2 == 0 ? 3 : 50'000;
        const int signal = round % 2 == 0 ? SIGKILL : SIGSTOP;
        detail::LocalMeeting meeting(world, random() % 2 == 0 ? LocalSockets::tcp : LocalSockets::unix_domain);
        test::Processes processes(world, [&](int rank) -> std::string {
            try {
                const SocketsOptions options = with_deadlines(meeting.options(rank));
                meeting.close();
                BasicSockets<Struck> link(options);
                if (rank == victim) {
                    Struck::signal = signal;
                    Struck::after = strike;
                }
                for (;;) reduce_and_check(link, topology, length);
            } catch (const Error& error) {
                return std::to_string(error.rank()) + ": " + error.what();
            } catch (const std::exception& error) {
                return error.what();
            }
        });
        meeting.close();
        const auto ends = processes.wait(Seconds{40});
        for (int rank = 0; rank < world; ++rank) {
            const test::Ended& end = ends[static_cast<std::size_t>(rank)];
            const std::string text = "round " + std::to_string(round) + ", topology " + std::to_string(topology) +
                                     ", " + std::to_string(length) + " elements, rank " + std::to_string(rank) +
                                     " of " + std::to_string(world) + ", rank " + std::to_string(victim) +
                                     (signal == SIGKILL ? " killed" : " stopped") + ": \"" + end.words + "\" after " +
                                     std::to_string(end.seconds) + " s";
            if (rank == victim) {
                BOOST_TEST((end.stopped || end.signal == SIGKILL), text);
                continue;
            }
            BOOST_TEST(end.words.starts_with(std::to_string(victim) + ": "), text);
            BOOST_TEST(end.seconds < timeout.count() + 2, text);
        }
    }
}

/// With every reducer: rank 2 of four is killed at about its 50th all-reduce.
BOOST_AUTO_TEST_CASE(with_every_reducer_survivors_are_told_and_later_calls_fail_at_once) {
    test::for_each_reducer<test::OverTcp>([](const auto& reducer) {
        detail::LocalMeeting meeting(4, LocalSockets::tcp);
        test::Processes processes(4, [&](int rank) -> std::string {
            struct sigaction before {};
            ::sigaction(SIGPIPE, nullptr, &before);
            SocketsOptions options = meeting.options(rank);
            options.timeout = Seconds{20};
            meeting.close();
            Sockets link(options);
            const auto first = test::outcome_of([&] {
                std::vector<float> values(1000, 1);
                for (int call = 0;; ++call) {
                    if (rank == 2 && call == 50) ::raise(SIGKILL);
                    reducer.all_reduce(link, std::span(values));
                }
            });
            const auto again = test::outcome_of([&] {
                std::vector<float> values(10, 1);
                reducer.all_reduce(link, std::span(values));
            });
            struct sigaction after {};
            ::sigaction(SIGPIPE, nullptr, &after);
            if (before.sa_handler != after.sa_handler) return "SIGPIPE is handled otherwise";
            if (again.message != first.message) return "later: " + again.message;
            return std::to_string(first.rank) + ": " + first.message;
        });
        meeting.close();
        const auto ends = processes.wait(Seconds{40});
        for (const std::size_t rank : {0U, 1U, 3U}) {
            BOOST_TEST(ends[rank].words.starts_with("2: rank 2 is lost"), reducer.name << ": " << ends[rank].words);
            BOOST_TEST(ends[rank].seconds < 5);
        }
    });
}

BOOST_AUTO_TEST_CASE(ranks_may_leave_right_after_their_last_collective) {
    Random random(7);
    for (int round = 0; round < rounds(60); ++round) {
        const int world = 2 + round % 7;
        const int topology = static_cast<int>(random() % 4);
        detail::LocalMeeting meeting(world, round % 2 == 0 ? LocalSockets::tcp : LocalSockets::unix_domain);
        test::Processes processes(world, [&](int rank) -> std::string {
            const auto outcome = test::outcome_of([&] {
                auto options = with_deadlines(meeting.options(rank));
                options.timeout = Seconds{20};
                meeting.close();
                Sockets link(options);
                reduce_and_check(link, topology, 1000);
            });
            return outcome.threw ? outcome.message : "well";
        });
        meeting.close();
        for (const test::Ended& end : processes.wait(Seconds{40})) {
            BOOST_TEST(end.words == "well", "round " << round << ", topology " << topology << ", " << world
                                                     << " ranks: \"" << end.words << "\"");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_life_of_a_transport_leaves_nothing_behind) {
    const std::size_t descriptors = test::open_descriptors();
    const std::size_t threads = test::count_entries("/proc/self/task");
    for (int life = 0; life < 300; ++life) {
        const auto outcomes = test::OverTcp::run(2 + life % 3, [&](Sockets& link) {
            reduce_and_check(link, life % 4, 100);
            if (life % 10 == 9 && link.rank() == 1) throw std::runtime_error("bad row 7");
            reduce_and_check(link, life % 4, 100);
        });
        if (life % 10 == 9) test::check_all_threw(outcomes, "bad row 7");
        else test::check_all_well(outcomes);
    }
    BOOST_TEST(test::open_descriptors() == descriptors);
    BOOST_TEST(test::count_entries("/proc/self/task") == threads);
}

}  // namespace
