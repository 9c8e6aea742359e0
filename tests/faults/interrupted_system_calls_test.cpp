// SPDX-License-Identifier: MIT
// Trial B20: an interrupted system call is no failure.
#include <lockstep/run/processes.hpp>
#include <lockstep/topology/ring.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <pthread.h>
#include <sys/time.h>

#include <boost/test/unit_test.hpp>

#include "support/any_reducer.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

std::atomic<int> interruptions{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// A signal every millisecond, whose handler makes the system calls that it interrupts fail with EINTR.
void interrupt_every_millisecond() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++interruptions; };
    action.sa_flags = 0;  // no SA_RESTART
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
}

/// From the first instant of every process that is forked: ranks also meet under fire.
struct InEveryProcess {
    InEveryProcess() { ::pthread_atfork(nullptr, nullptr, &interrupt_every_millisecond); }
};
BOOST_TEST_GLOBAL_FIXTURE(InEveryProcess);

void check_sums(LocalSockets sockets) {
    constexpr std::size_t length = std::size_t{4} << 20;
    const auto sum = [](Sockets link) {
        std::vector<float> values(length);
        test::for_each_reducer(link, [&](const auto& reducer) {
            const int calls = reducer.name == std::string_view(Ring::name) ? 20 : 2;
            for (int call = 0; call < calls; ++call) {
                std::fill(values.begin(), values.end(), 1.0F);
                reducer.all_reduce(link, std::span(values));
                test::expect_each(
                    length, [&](std::size_t index) { return values[index] == 2.0F; }, reducer.name);
            }
        });
        test::expect(interruptions > 0, "no signal came");
    };
    run_processes(2, sum, {.sockets = sockets, .timeout = Seconds{60}});
}

BOOST_AUTO_TEST_CASE(signals_do_not_disturb_unix_domain_sockets) {
    BOOST_CHECK_NO_THROW(check_sums(LocalSockets::unix_domain));
}
BOOST_AUTO_TEST_CASE(signals_do_not_disturb_tcp) { BOOST_CHECK_NO_THROW(check_sums(LocalSockets::tcp)); }

BOOST_AUTO_TEST_CASE(signals_do_not_extend_deadlines) {
    const auto wait = [](Sockets link) {
        // Each waits for the other's message, and none is sent.
        float value = 0;
        const Call call = link.begin({});
        link.exchange(call, {}, {1 - link.rank(), std::as_writable_bytes(std::span(&value, 1))});
    };
    BOOST_CHECK_THROW(run_processes(2, wait, {.timeout = Seconds{0.2}}), TimeoutError);
}

}  // namespace
