// SPDX-License-Identifier: MIT
#include <lockstep/run/processes.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/storage/shared_memory.hpp>
#include <lockstep/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/messages.hpp"
#include "support/tmpdir.hpp"

namespace {

using lockstep::ErrorKind;
using lockstep::LocalSockets;
using lockstep::ProcessesOptions;
using lockstep::run_processes;
using lockstep::Seconds;
using lockstep::SharedMemory;
using lockstep::Sockets;

constexpr LocalSockets kinds[] = {LocalSockets::unix_domain, LocalSockets::tcp};

/// Around every test: no process, file or descriptor stays behind.
struct NothingLeft {
    NothingLeft() = default;
    ~NothingLeft() {
        errno = 0;
        BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == -1);
        BOOST_TEST(errno == ECHILD);
        BOOST_TEST(tmpdir.entries() == 0U);
        BOOST_TEST(test::open_descriptors() == descriptors);
    }
    test::OwnTmpdir tmpdir;
    std::size_t descriptors = test::open_descriptors();
};

/// Exchanges along the ring until something goes wrong.
void go_on(Sockets& link) {
    for (;;) test::go_round(link, link.begin(test::bytes_request(8)));
}

/// What the caller gets when rank 1 of three does `harm` while the others need it.
template <class Harm>
test::Outcome outcome_of_harm(const Harm& harm, const ProcessesOptions& options = {}) {
    return test::outcome_of([&] {
        run_processes(
            3,
            [&](Sockets& link) {
                test::go_round(link, link.begin(test::bytes_request(8)));
                if (link.rank() == 1) harm();
                go_on(link);
            },
            options);
    });
}

BOOST_FIXTURE_TEST_SUITE(processes, NothingLeft)

BOOST_AUTO_TEST_CASE(every_rank_works_once_in_a_process_of_its_own) {
    for (const LocalSockets kind : kinds) {
        for (const int world : test::worlds) {
            const auto size = static_cast<std::size_t>(world);
            SharedMemory::buffer<int> runs(size);
            SharedMemory::buffer<pid_t> processes(size);
            run_processes(world,
                          [&](Sockets link) {
                              test::expect(link.world_size() == world, "world size");
                              ++runs.data()[link.rank()];
                              processes.data()[link.rank()] = ::getpid();
                          },
                          {.sockets = kind});
            for (std::size_t rank = 0; rank < size; ++rank) {
                BOOST_TEST(runs.data()[rank] == 1);
                BOOST_TEST(processes.data()[rank] != ::getpid());
                for (std::size_t other = 0; other < rank; ++other) {
                    BOOST_TEST(processes.data()[rank] != processes.data()[other]);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(sums_come_back_through_shared_memory) {
    constexpr std::size_t elements = 1000;
    for (const LocalSockets kind : kinds) {
        for (const int world : test::worlds) {
            SharedMemory::buffer<float> results(static_cast<std::size_t>(world) * elements);
            run_processes(world,
                          [&](Sockets& link) {
                              // Element i of rank r is (r + 1)(i + 1).
                              const auto own = std::span(results.data(), results.size())
                                                   .subspan(static_cast<std::size_t>(link.rank()) * elements, elements);
                              for (std::size_t index = 0; index < elements; ++index) {
                                  own[index] =
                                      static_cast<float>((static_cast<std::size_t>(link.rank()) + 1) * (index + 1));
                              }
                              lockstep::all_reduce<lockstep::Ring>(link, own);
                          },
                          {.sockets = kind});
            std::size_t wrong = 0;
            for (std::size_t place = 0; place < results.size(); ++place) {
                const auto sum = static_cast<std::size_t>(world * (world + 1) / 2) * (place % elements + 1);
                wrong += results.data()[place] != static_cast<float>(sum);
            }
            BOOST_TEST(wrong == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_world_has_at_least_one_rank) {
    for (const int world : {0, -1}) {
        const auto outcome = test::outcome_of([&] { run_processes(world, [](Sockets&) {}); });
        test::check_error(outcome, ErrorKind::configuration, {"world_size", std::to_string(world)});
    }
}

BOOST_AUTO_TEST_CASE(an_exception_in_a_worker_reaches_the_caller_with_its_kind_its_rank_and_its_text) {
    for (const LocalSockets kind : kinds) {
        const ProcessesOptions options{.sockets = kind};
        const auto typed = outcome_of_harm([] { throw lockstep::ShapeError("7 is not 8"); }, options);
        test::check_error(typed, ErrorKind::shape, {"7 is not 8"});
        BOOST_TEST(typed.rank == 1);
        const auto foreign = outcome_of_harm([] { throw std::out_of_range("bad row 7"); }, options);
        test::check_error(foreign, ErrorKind::remote, {"rank 1: bad row 7"});
        BOOST_TEST(foreign.rank == 1);
        const auto nothing = outcome_of_harm([] { throw 42; }, options);
        test::check_error(nothing, ErrorKind::remote, {"rank 1: an exception that is no std::exception"});
    }
}

BOOST_AUTO_TEST_CASE(the_text_of_an_exception_may_be_long_or_empty) {
    const std::string text = std::string(100'000, 'x') + "\n the end";
    BOOST_TEST(outcome_of_harm([&] { throw lockstep::FormatError(text); }).message == text);
    test::check_error(outcome_of_harm([] { throw lockstep::FormatError(""); }), ErrorKind::format, {});
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_killed_is_named_with_its_signal) {
    for (const LocalSockets kind : kinds) {
        const auto outcome = outcome_of_harm([] { ::raise(SIGKILL); }, {.sockets = kind});
        test::check_error(outcome, ErrorKind::peer_lost, {"rank 1 was killed by signal 9"});
        BOOST_TEST(outcome.rank == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_worker_that_exits_is_named_with_its_status) {
    for (const int status : {3, 0}) {
        const auto outcome = outcome_of_harm([status] { ::_exit(status); });
        test::check_error(outcome, ErrorKind::peer_lost,
                          {"rank 1 ended before its work was done", "exit status " + std::to_string(status)});
        BOOST_TEST(outcome.rank == 1);
    }
}

/// How a worker ended, for the parent to read.
struct Report {
    int kind;
    int rank;
    bool pipe_signal_untouched;
};

BOOST_AUTO_TEST_CASE(survivors_of_a_killed_worker_are_told_who_it_was) {
    for (const LocalSockets kind : kinds) {
        SharedMemory::buffer<Report> reports(4);
        const auto outcome = test::outcome_of([&] {
            run_processes(4,
                          [&](Sockets& link) {
                              std::vector<float> values(1000, 1.0F);
                              const auto error = test::outcome_of([&] {
                                  for (int call = 0;; ++call) {
                                      if (link.rank() == 2 && call == 50) ::raise(SIGKILL);
                                      lockstep::all_reduce<lockstep::Ring>(link, std::span(values));
                                  }
                              });
                              struct sigaction action {};
                              ::sigaction(SIGPIPE, nullptr, &action);
                              reports.data()[link.rank()] = {static_cast<int>(error.kind), error.rank,
                                                             action.sa_handler == SIG_DFL};
                              link.begin({});
                          },
                          {.sockets = kind});
        });
        test::check_error(outcome, ErrorKind::peer_lost, {"rank 2 was killed by signal 9"});
        for (const int rank : {0, 1, 3}) {
            BOOST_TEST(reports.data()[rank].kind == static_cast<int>(ErrorKind::peer_lost));
            BOOST_TEST(reports.data()[rank].rank == 2);
            BOOST_TEST(reports.data()[rank].pipe_signal_untouched);
        }
    }
}

const ProcessesOptions quickly{.timeout = Seconds{0.2}, .grace = Seconds{0.6}};

BOOST_AUTO_TEST_CASE(workers_that_hang_after_a_failure_are_ended_and_the_failure_is_told) {
    for (const int hanging : {0, 2}) {
        const auto outcome = test::outcome_of([&] {
            run_processes(
                3,
                [&](Sockets& link) {
                    if (link.rank() == 1) throw std::runtime_error("bad row 7");
                    while (link.rank() == hanging) ::pause();
                    go_on(link);
                },
                quickly);
        });
        test::check_error(outcome, ErrorKind::remote,
                          {"rank 1: bad row 7", "rank " + std::to_string(hanging) + " did not end"});
        BOOST_TEST(outcome.rank == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_worker_that_hangs_is_named_with_those_who_waited_for_it) {
    const auto outcome = test::outcome_of([] {
        run_processes(
            3,
            [](Sockets& link) {
                while (link.rank() == 1) ::pause();
                test::exchange_message(link, link.begin(test::bytes_request(8)), 1, 1, 0, 8);
            },
            quickly);
    });
    test::check_error(outcome, ErrorKind::timeout, {"has waited 0.2 s for rank 1", "rank 1 did not end"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
