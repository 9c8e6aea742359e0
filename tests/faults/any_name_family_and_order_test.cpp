// SPDX-License-Identifier: MIT
/// @file
/// B25: names, address families, and the order in which ranks come.
#include <algorithm>
#include <latch>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/transport/sockets.hpp>

#include <boost/test/unit_test.hpp>

#include "support/free_port.hpp"
#include "support/messages.hpp"

namespace {

using namespace lockstep;

void join(const std::string& address, int rank, int world, Seconds join_timeout = Seconds{20}) {
    Sockets link(SocketsOptions{.rank = rank, .world_size = world, .address = address, .join_timeout = join_timeout});
    test::go_round(link, link.begin(test::bytes_request(8)));
}

bool has_ipv6() {
    return !test::outcome_of([] { detail::listen_at("[::1]:0", 0); }).threw;
}

bool localhost_has_ipv6() {
    const auto found = detail::resolve("localhost:0");
    return has_ipv6() &&
           std::any_of(found.begin(), found.end(), [](const auto& each) { return each.family() == AF_INET6; });
}

BOOST_AUTO_TEST_CASE(a_name_is_tried_at_every_address_it_stands_for) {
    for (const std::string host : {"localhost", "127.0.0.1", "[::1]", "127.0.1.1"}) {
        if (host == "[::1]" && !has_ipv6()) {
            BOOST_TEST_MESSAGE("no IPv6 here");
            continue;
        }
        const test::FreePort port;
        const std::string address = host + port.address().substr(port.address().rfind(':'));
        test::check_all_well(test::on_ranks(3, [&](int rank) { join(address, rank, 3); }));
    }
}

BOOST_AUTO_TEST_CASE(rank_0_may_listen_at_one_family_of_a_name_that_stands_for_two) {
    for (const std::string_view host : {"127.0.0.1", "[::1]"}) {
        if (host == "[::1]" && !localhost_has_ipv6()) continue;
        const test::FreePort port;
        const std::string number = port.address().substr(port.address().rfind(':'));
        test::check_all_well(test::on_ranks(
            3, [&](int rank) { join((rank == 0 ? std::string(host) : "localhost") + number, rank, 3); }));
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_nobody_has_is_said_in_time) {
    const auto outcome = test::outcome_of([] { join("no-such-host.invalid:29500", 1, 2, Seconds{0.5}); });
    BOOST_TEST(outcome.is_error);
    BOOST_TEST(outcome.message.find("no-such-host.invalid") != std::string::npos, outcome.message);
}

BOOST_AUTO_TEST_CASE(ranks_come_in_any_order_rank_0_last_and_64_at_once) {
    const test::FreePort port;
    std::latch others(63);
    test::check_all_well(test::on_ranks(64, [&](int rank) {
        if (rank == 0) others.wait();
        else others.count_down();
        join(port.address(), rank, 64);
    }));
}

}  // namespace
