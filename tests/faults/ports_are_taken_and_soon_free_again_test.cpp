// SPDX-License-Identifier: MIT
/// @file
/// B23: a port that is taken is named at once, on rank 0, and never shared; a job that has ended in whatever way leaves
/// its port to the next.
#include <csignal>
#include <string>
#include <vector>

#include <unistd.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/sockets.hpp>

#include <boost/test/unit_test.hpp>

#include "support/free_port.hpp"
#include "support/messages.hpp"
#include "support/processes.hpp"

namespace {

using namespace lockstep;

SocketsOptions at(const std::string& address, int rank, int world, Seconds join_timeout) {
    return {.rank = rank, .world_size = world, .address = address, .join_timeout = join_timeout};
}

BOOST_AUTO_TEST_CASE(a_taken_port_is_named_and_the_others_end_in_time) {
    const detail::Descriptor foreign = detail::listen_at("127.0.0.1:0", 0);
    const std::string address = detail::to_text(detail::local_address(foreign.get()));
    const Deadline at_once = Deadline::after(Seconds{10});
    const auto outcomes = test::on_ranks(
        2, [&](int rank) { Sockets link(at(address, rank, 2, rank == 0 ? Seconds{60} : Seconds{0.5})); });
    BOOST_TEST(!at_once.passed());
    test::check_error(outcomes[0], ErrorKind::transport, {"cannot listen at " + address, "Address already in use"});
    // Whoever listens there says nothing.
    test::check_error(outcomes[1], ErrorKind::timeout, {"0.5 s at " + address});
}

BOOST_AUTO_TEST_CASE(ten_jobs_in_a_row_use_one_port) {
    const test::FreePort port;
    for (int job = 0; job < 10; ++job) {
        const bool interrupted = job % 2 == 1;
        test::Processes processes(3, [&](int rank) -> std::string {
            ::signal(SIGINT, SIG_DFL);
            const auto outcome = test::outcome_of([&] {
                Sockets link(at(port.address(), rank, 3, Seconds{20}));
                std::vector<double> values(1000, rank);
                for (int step = 0; step < 3; ++step) {
                    all_reduce<Ring>(link, std::span(values));
                    if (interrupted && step == 1) ::raise(SIGINT);
                }
            });
            return outcome.threw ? outcome.message : "well";
        });
        const auto ends = processes.wait(Seconds{40});
        for (const test::Ended& end : ends) {
            const std::string text = "job " + std::to_string(job) + ": \"" + end.words + "\"";
            // Some are told that others were interrupted before the signal comes to them.
            if (interrupted) BOOST_TEST((end.signal == SIGINT || end.words.find("is lost") != std::string::npos), text);
            else BOOST_TEST(end.words == "well", text);
        }
    }
}

}  // namespace
