// SPDX-License-Identifier: MIT
// Trial B19: both neighbours write before they read.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include "support/reducers/every_reducer.hpp"
#include "support/values.hpp"
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

using Link = BasicSockets<SmallBuffers>;

void check_ones(const test::AnyReducer<Link>& topology, LocalSockets sockets, int world, std::size_t mebibytes) {
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
        Link link(options[static_cast<std::size_t>(rank)]);
        fail_together(link, [&] {
            std::vector<float> values(length, 1.0F);
            topology.all_reduce(link, std::span(values));
            const auto right = [&](std::size_t index) { return values[index] == static_cast<float>(world); };
            test::expect_each(length, right, "sums");
        });
    }));
}

/// As the trial has it: 64 MiB between two; less between more, whose bytes all pass through the same two cores.
void check_all(LocalSockets sockets) {
    for (const auto& topology : test::every_topology<Link>()) {
        const bool in_full =
            topology.name == std::string_view(Ring::name) || topology.name == std::string_view(Tree::name);
        for (const int world : {2, 3, 4}) {
            BOOST_TEST_CONTEXT(topology.name << ", world " << world) {
                check_ones(topology, sockets, world, !in_full ? 4 : world == 2 ? 64 : 16);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(megabytes_over_tcp_pass_through_buffers_of_4096_bytes) { check_all(LocalSockets::tcp); }
BOOST_AUTO_TEST_CASE(megabytes_over_unix_pass_through_buffers_of_4096_bytes) { check_all(LocalSockets::unix_domain); }

}  // namespace
