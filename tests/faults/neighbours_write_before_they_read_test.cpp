// SPDX-License-Identifier: MIT
// Trial B19: both neighbours write before they read.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// Keeps the buffers of every connection small. The option alone would not: connections that are accepted, not made,
/// do not all inherit it.
struct SmallBuffers {
    static void shrink(int descriptor) noexcept {
        const int bytes = 4096;
        ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        shrink(descriptor);
        return SystemCalls::send(descriptor, message);
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        shrink(descriptor);
        return SystemCalls::receive(descriptor, message);
    }
};

using Runners = boost::mpl::list<test::OverSockets<LocalSockets::tcp, SmallBuffers>,
                                 test::OverSockets<LocalSockets::unix_domain, SmallBuffers>>;

template <class Runner, class Strategy>
void check_ones(int world, std::size_t bytes) {
    const auto outcomes = Runner::run(
        world,
        [&](auto& link) {
            std::vector<float> values(bytes / sizeof(float), 1.0F);
            all_reduce<Strategy>(link, std::span(values));
            std::size_t wrong = 0;
            for (const float value : values) wrong += value != static_cast<float>(world) ? 1U : 0U;
            test::expect(wrong == 0, std::to_string(wrong) + " elements are wrong");
        },
        Seconds{60}, 4096);
    test::check_all_well(outcomes);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(megabytes_pass_through_buffers_of_4096_bytes, Runner, Runners) {
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    for (const int world : {2, 3, 4}) {
        check_ones<Runner, Ring>(world, 64 * mebibyte);
        check_ones<Runner, Tree>(world, 64 * mebibyte);
    }
}

}  // namespace
