// SPDX-License-Identifier: MIT
// Trial B19: both neighbours write before they read.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

constexpr int buffer_bytes = 4096;

void shrink(int descriptor, int option) noexcept {
    ::setsockopt(descriptor, SOL_SOCKET, option, &buffer_bytes, sizeof buffer_bytes);
}

/// The option says it for connections that a rank makes; those that it accepts over Unix domain sockets do not inherit
/// the size of what they send from.
struct SmallBuffers {
    static ssize_t send(int descriptor, const msghdr& message) noexcept {
        shrink(descriptor, SO_SNDBUF);
        return SystemCalls::send(descriptor, message);
    }
    static ssize_t receive(int descriptor, msghdr& message) noexcept {
        return SystemCalls::receive(descriptor, message);
    }
};

template <class Strategy>
void check_ones(LocalSockets sockets, int world) {
    // 64 MiB between two; less between more, whose bytes all pass through the same two cores.
    const std::size_t mebibytes = world == 2 ? 64 : 16;
    const std::size_t length = (mebibytes << 20) / sizeof(float);
    detail::LocalMeeting meeting(world, sockets);
    std::vector<SocketsOptions> options;
    for (int rank = 0; rank < world; ++rank) {
        options.push_back(meeting.options(rank));
        options.back().socket_buffer_bytes = buffer_bytes;
    }
    // Rank 0 is handed a socket that listens already.
    shrink(options[0].listener, SO_SNDBUF);
    shrink(options[0].listener, SO_RCVBUF);
    test::check_all_well(test::on_ranks(world, [&](int rank) {
        BasicSockets<SmallBuffers> link(options[static_cast<std::size_t>(rank)]);
        fail_together(link, [&] {
            std::vector<float> values(length, 1.0F);
            all_reduce<Strategy>(link, std::span(values));
            const auto right = [&](std::size_t index) { return values[index] == static_cast<float>(world); };
            test::expect_each(length, right, "sums");
        });
    }));
}

BOOST_AUTO_TEST_CASE(megabytes_in_a_ring_pass_through_buffers_of_4096_bytes) {
    for (const int world : {2, 3, 4}) {
        check_ones<Ring>(LocalSockets::tcp, world);
        check_ones<Ring>(LocalSockets::unix_domain, world);
    }
}

BOOST_AUTO_TEST_CASE(megabytes_in_a_tree_pass_through_buffers_of_4096_bytes) {
    for (const int world : {2, 3, 4}) {
        check_ones<Tree>(LocalSockets::tcp, world);
        check_ones<Tree>(LocalSockets::unix_domain, world);
    }
}

}  // namespace
