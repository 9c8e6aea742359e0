// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <latch>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/time.h>
#include <unistd.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/topology/ring.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "support/conformance/transport.hpp"
#include "support/descriptors.hpp"
#include "support/tmpdir.hpp"

namespace {

using lockstep::LocalSockets;
using lockstep::Seconds;
using lockstep::Sockets;
using lockstep::SocketsOptions;
using lockstep::SystemCalls;

using Runners = boost::mpl::list<test::OverTcp, test::OverUnix>;

BOOST_AUTO_TEST_CASE_TEMPLATE(carries_bytes, Runner, Runners) { test::check_carries<Runner>(); }
BOOST_AUTO_TEST_CASE_TEMPLATE(fails_together, Runner, Runners) { test::check_fails_together<Runner>(); }

// ---- Systems that make life hard ----------------------------------------------------------------------------

/// Moves at most 7 bytes a call.
struct Stingy {
    struct Clipped {
        explicit Clipped(const msghdr& whole) : message(whole) {
            std::size_t room = 7;
            for (std::size_t index = 0; index < message.msg_iovlen; ++index) {
                pieces[index] = whole.msg_iov[index];
                pieces[index].iov_len = std::min(pieces[index].iov_len, room);
                room -= pieces[index].iov_len;
            }
            message.msg_iov = pieces;
        }
        iovec pieces[2]{};
        msghdr message;
    };
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        return SystemCalls::send(descriptor, Clipped(message).message);
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        Clipped clipped(message);
        return SystemCalls::receive(descriptor, clipped.message);
    }
};

/// Says no, with this errno, to calls that `Refuses` picks.
template <int Errno, class Refuses>
struct Refusing {
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        return Refuses::next() ? refuse() : SystemCalls::send(descriptor, message);
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        return Refuses::next() ? refuse() : SystemCalls::receive(descriptor, message);
    }
    static ssize_t refuse() noexcept {
        errno = Errno;
        return -1;
    }
};
struct EveryOther {
    static bool next() noexcept {
        static thread_local unsigned calls = 0;
        return ++calls % 2 == 1;
    }
};
struct Randomly {
    static bool next() noexcept {
        static thread_local lockstep::Random random(7);
        return random() % 2 == 0;
    }
};
using Interrupted = Refusing<EINTR, EveryOther>;
using Hesitant = Refusing<EAGAIN, Randomly>;

using HardRunners =
    boost::mpl::list<test::OverSockets<LocalSockets::tcp, Stingy>, test::OverSockets<LocalSockets::unix_domain, Stingy>,
                     test::OverSockets<LocalSockets::tcp, Interrupted>,
                     test::OverSockets<LocalSockets::unix_domain, Hesitant>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(what_the_system_does_by_halves_is_done_in_the_end, Runner, HardRunners) {
    constexpr std::array<std::size_t, 5> sizes{0, 1, 7, 48, 4097};
    test::check_exchange<Runner>(sizes);
    test::check_combine<Runner>(1001);
    test::check_order<Runner>();
    test::check_exception<Runner>();
}

template <LocalSockets Kind>
struct WithSmallBuffers : test::OverSockets<Kind> {
    template <class Work>
    static std::vector<test::Outcome> run(int world_size, const Work& work) {
        test::Settings settings;
        settings.socket_buffer_bytes = 4096;
        return test::OverSockets<Kind>::run(world_size, work, settings);
    }
};
using SmallRunners = boost::mpl::list<WithSmallBuffers<LocalSockets::tcp>, WithSmallBuffers<LocalSockets::unix_domain>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(messages_may_be_longer_than_all_buffers, Runner, SmallRunners) {
    constexpr std::array<std::size_t, 1> sizes{std::size_t{1} << 20};
    test::check_exchange<Runner>(sizes);
}

/// A layer that turns on one rank when told to.
struct Treacherous : SystemCalls {
    enum class Mood { honest, garbling, broken };
    static inline thread_local Mood mood = Mood::honest;

    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        if (mood == Mood::broken) {
            errno = ENETDOWN;
            return -1;
        }
        if (mood == Mood::garbling) static_cast<char*>(message.msg_iov[0].iov_base)[0] = 'X';
        mood = Mood::honest;
        return SystemCalls::send(descriptor, message);
    }
};
using OverTreacherous = test::OverSockets<LocalSockets::unix_domain, Treacherous>;

BOOST_AUTO_TEST_CASE(bytes_that_are_no_frame_are_an_error_on_all_ranks) {
    const auto outcomes = OverTreacherous::run(3, [](auto& link) {
        test::go_round(link, link.begin(test::bytes_request(8)));
        const lockstep::Call call = link.begin(test::bytes_request(8));
        if (link.rank() == 1) Treacherous::mood = Treacherous::Mood::garbling;
        test::go_round(link, call);
    });
    for (const auto& outcome : outcomes) {
        test::check_error(outcome, lockstep::ErrorKind::transport, {"rank 1 sent bytes that are no lockstep frame"});
    }
}

BOOST_AUTO_TEST_CASE(a_connection_that_breaks_is_an_error_with_the_systems_reason) {
    const auto outcomes = OverTreacherous::run(2, [](auto& link) {
        test::go_round(link, link.begin(test::bytes_request(8)));
        const lockstep::Call call = link.begin(test::bytes_request(8));
        if (link.rank() == 1) Treacherous::mood = Treacherous::Mood::broken;
        test::go_round(link, call);
    });
    // Rank 1 cannot tell what it knows either: rank 0 only sees it go.
    test::check_error(outcomes[1], lockstep::ErrorKind::peer_lost, {"rank 0 is lost", "Network is down"});
    test::check_error(outcomes[0], lockstep::ErrorKind::peer_lost, {"rank 1"});
}

// ---- Who says what when it goes wrong ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(a_failure_is_told_along_the_data_where_rank_0_is_busy, Runner, Runners) {
    std::latch connected(3);
    std::latch told(2);
    const auto outcomes = Runner::run(3, [&](Sockets& link) {
        const lockstep::Call call = link.begin(test::bytes_request(8));
        test::go_round(link, call);
        connected.arrive_and_wait();
        if (link.rank() == 0) return told.wait();  // It does not listen, and cannot pass anything on.
        const auto outcome = test::outcome_of([&] {
            if (link.rank() == 2) throw lockstep::FormatError("bad row 7", 2);
            test::exchange_message(link, call, -1, 2, 0, 8);
        });
        if (link.rank() == 2) link.fail({outcome.kind, outcome.rank, outcome.message});
        told.count_down();
        lockstep::raise({outcome.kind, outcome.rank, outcome.message});
    });
    BOOST_TEST(!outcomes[0].threw, outcomes[0].message);
    for (const int rank : {1, 2}) {
        test::check_error(outcomes[static_cast<std::size_t>(rank)], lockstep::ErrorKind::format, {"bad row 7"});
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(who_only_sends_is_told_the_reason_too, Runner, Runners) {
    std::latch connected(3);
    std::latch failed(1);
    std::latch told(1);
    const auto outcomes = Runner::run(3, [&](Sockets& link) {
        const lockstep::Call call = link.begin(test::bytes_request(8));
        test::go_round(link, call);
        connected.arrive_and_wait();
        if (link.rank() == 0) return told.wait();
        if (link.rank() == 2) {
            link.fail({lockstep::ErrorKind::format, 2, "bad row 7"});
            return failed.count_down();
        }
        failed.wait();
        const auto outcome = test::outcome_of([&] {
            const std::size_t size = std::size_t{1} << 20;
            for (std::size_t time = 0; time < 20; ++time) {
                test::exchange_message(link, link.begin(test::bytes_request(size)), 2, -1, 0, size);
            }
        });
        told.count_down();
        lockstep::raise({outcome.kind, outcome.rank, outcome.message});
    });
    test::check_error(outcomes[1], lockstep::ErrorKind::format, {"bad row 7"});
    BOOST_TEST(outcomes[1].rank == 2);
}

/// Rank 2 is stopped, in effect: it is in no call until the others have ended.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_stalls_is_named_by_those_who_do_not_wait_for_it_themselves, Runner, Runners) {
    std::latch others(3);
    const auto outcomes = Runner::run(
        4,
        [&](Sockets& link) {
            const lockstep::Call call = link.begin(test::bytes_request(8));
            if (link.rank() == 2) return others.wait();
            const auto outcome =
                test::outcome_of([&] { test::exchange_message(link, call, -1, test::left_of(link), 0, 8); });
            others.count_down();
            lockstep::raise({outcome.kind, outcome.rank, outcome.message});
        },
        Seconds{0.2});
    for (const int rank : {0, 1, 3}) {
        const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
        test::check_error(outcome, lockstep::ErrorKind::timeout, {"rank 2 is in no collective, or stopped"});
        BOOST_TEST(outcome.rank == 2);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_with_different_roots_are_told_of_both, Runner, Runners) {
    const auto outcomes = Runner::run(
        3,
        [](Sockets& link) {
            std::array<double, 3> values{};
            lockstep::broadcast(link, std::span<double>(values), link.rank() == 1 ? 1 : 0);
            // Who only sends learns of it in the next call.
            lockstep::barrier(link);
        },
        Seconds{0.5});
    for (const auto& outcome : outcomes) {
        test::check_error(outcome, lockstep::ErrorKind::transport, {"ranks disagree", "broadcast #0", ", root 1)"});
    }
}

BOOST_AUTO_TEST_CASE(what_a_rank_did_last_is_written_when_it_fails) {
    const test::OwnTmpdir tmpdir;
    lockstep::detail::LocalMeeting meeting(2, LocalSockets::tcp);
    std::vector<SocketsOptions> options{meeting.options(0), meeting.options(1)};
    for (SocketsOptions& each : options) each.record = tmpdir.path() + "/record";
    std::vector<std::string> recent(2);
    std::latch both(2);
    test::on_ranks(2, [&](int rank) {
        Sockets link(options[static_cast<std::size_t>(rank)]);
        std::array<double, 3> values{};
        for (int call = 0; call < 3; ++call) lockstep::all_reduce<lockstep::Ring>(link, std::span<double>(values));
        recent[static_cast<std::size_t>(rank)] = link.recent();
        both.arrive_and_wait();
        lockstep::fail_together(link, [&] {
            if (rank == 1) throw std::runtime_error("bad row 7");
            lockstep::barrier(link);
        });
    });
    for (const int rank : {0, 1}) {
        const std::string path = tmpdir.path() + "/record." + std::to_string(rank);
        std::ifstream file(path);
        const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        BOOST_TEST(recent[static_cast<std::size_t>(rank)].find("all_reduce #2 (sum of 3 float64") != std::string::npos);
        BOOST_TEST(text.starts_with(recent[static_cast<std::size_t>(rank)].substr(0, 9)), text);
        BOOST_TEST((text.find("barrier #3") != std::string::npos) == (rank == 0), text);
        BOOST_TEST(text.ends_with("rank 1: bad row 7\n"), text);
        ::unlink(path.c_str());
    }
}

// ---- One process, many worlds -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_storm_of_signals_changes_nothing) {
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = [](int) {};  // without SA_RESTART
    ::sigaction(SIGALRM, &ignore, &before);
    const itimerval storm{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &storm, nullptr);
    const auto well = test::OverTcp::run(2, [](Sockets& link) {
        for (std::size_t number = 0; number < 20; ++number) {
            const std::size_t size = std::size_t{1} << 20;
            test::exchange_message(link, link.begin(test::bytes_request(size)), 1 - link.rank(), 1 - link.rank(),
                                   number, size);
        }
    });
    // Signals do not make time stand still either.
    std::latch thrown(1);
    const auto late = test::OverTcp::run(
        2,
        [&](Sockets& link) {
            if (link.rank() == 1) return thrown.wait();
            const auto outcome = test::outcome_of(
                [&] { test::exchange_message(link, link.begin(test::bytes_request(1)), -1, 1, 0, 1); });
            thrown.count_down();
            link.begin({});
        },
        Seconds{0.1});
    ::setitimer(ITIMER_REAL, nullptr, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    test::check_all_well(well);
    test::check_error(late[0], lockstep::ErrorKind::timeout, {"rank 0 has waited 0.1 s for rank 1"});
}

BOOST_AUTO_TEST_CASE(a_bad_rank_or_world_size_is_an_error_before_any_socket_is_opened) {
    struct Case {
        int rank, world_size;
        const char* part;
    };
    const std::size_t descriptors = test::open_descriptors();
    for (const Case& bad : {Case{0, 0, "world_size must be at least 1, not 0"}, Case{0, -3, "not -3"},
                            Case{4, 4, "rank 4 is outside a world of size 4"}, Case{-1, 4, "rank -1"}}) {
        const SocketsOptions options{.rank = bad.rank, .world_size = bad.world_size, .address = "unix:/nowhere/at/all"};
        test::check_error(test::outcome_of([&] { Sockets link(options); }), lockstep::ErrorKind::configuration,
                          {bad.part});
    }
    BOOST_TEST(test::open_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE(a_world_of_one_opens_no_socket) {
    const std::size_t descriptors = test::open_descriptors();
    Sockets link({.address = "this is no address"});
    BOOST_TEST(link.rank() == 0);
    BOOST_TEST(link.world_size() == 1);
    link.exchange(link.begin({}), {}, {});
    BOOST_TEST(test::open_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_life_of_a_world_closes_what_it_has_opened, Runner, Runners) {
    const std::size_t descriptors = test::open_descriptors();
    for (int life = 0; life < 50; ++life) {
        // Some end well, some by an exception.
        const auto outcomes = Runner::run(3, [&](Sockets& link) {
            const lockstep::Call call = link.begin(test::bytes_request(8));
            if (life % 5 == 0 && link.rank() == 2) throw std::runtime_error("bad row 7");
            test::go_round(link, call);
        });
        if (life % 5 == 0) test::check_all_threw(outcomes, "bad row 7");
        else test::check_all_well(outcomes);
    }
    BOOST_TEST(test::open_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE(ranks_meet_over_ipv6_where_there_is_some) {
    std::optional<lockstep::detail::Descriptor> listener;
    const auto outcome = test::outcome_of([&] { listener = lockstep::detail::listen_at("[::1]:0", 0); });
    if (outcome.threw) {
        BOOST_TEST_MESSAGE("no IPv6 here: " << outcome.message);
        return;
    }
    const std::string address = lockstep::detail::to_text(lockstep::detail::local_address(listener->get()));
    BOOST_TEST(address.starts_with("[::1]:"));
    test::check_all_well(test::on_ranks(3, [&](int rank) {
        SocketsOptions options{.rank = rank, .world_size = 3, .address = address};
        if (rank == 0) options.listener = listener->release();
        Sockets link(options);
        test::go_round(link, link.begin(test::bytes_request(8)));
    }));
}

}  // namespace
