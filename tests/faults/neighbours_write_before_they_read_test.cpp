// SPDX-License-Identifier: MIT
// Trial B19: both neighbours write before they read.
#include <lockstep/collectives/all_reduce.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include "support/any_reducer.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

void check_ones(const test::AnyReducer<Sockets>& topology, LocalSockets sockets, int world, std::size_t mebibytes) {
    const std::size_t length = (mebibytes << 20) / sizeof(float);
    detail::LocalMeeting meeting(world, sockets);
    test::check_all_well(test::on_ranks(world, [&](int rank) {
        SocketsOptions options = meeting.options(rank);
        options.socket_buffer_bytes = 4096;
        Sockets link(options);
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
    for (const auto& topology : test::every_topology<Sockets>()) {
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
