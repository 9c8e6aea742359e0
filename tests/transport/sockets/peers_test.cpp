// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/peers.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/messages.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

using Runners = boost::mpl::list<test::OverTcp, test::OverUnix>;

/// How many descriptors a world of this size opens for its data when every rank calls `work(link)`.
template <class Runner, class Work>
std::size_t opened_for_data(int world, const Work& work) {
    std::barrier<> all(world);
    std::size_t before = 0;
    std::size_t after = 0;
    test::check_all_well(Runner::run(world, [&](Sockets& link) {
        all.arrive_and_wait();
        if (link.rank() == 0) before = test::open_descriptors();
        all.arrive_and_wait();
        work(link);
        all.arrive_and_wait();
        if (link.rank() == 0) after = test::open_descriptors();
        all.arrive_and_wait();
    }));
    return after - before;
}

/// The ranks' sum, as it should be.
template <Topology Shape>
void sum_of_ranks(Sockets& link) {
    const int world = link.world_size();
    std::vector<double> values(static_cast<std::size_t>(world), link.rank());
    all_reduce<Shape>(link, std::span(values));
    for (const double value : values) test::expect(value == world * (world - 1) / 2.0, "a sum");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nobody_is_connected_who_has_nothing_to_say, Runner, Runners) {
    BOOST_TEST(opened_for_data<Runner>(5, [](Sockets&) {}) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_ring_opens_two_connections_a_rank, Runner, Runners) {
    for (const int world : {3, 8, 64}) {
        // Both ends of each are in this process.
        const auto ends = opened_for_data<Runner>(world, &sum_of_ranks<Ring>);
        BOOST_TEST(ends == static_cast<std::size_t>(2 * world));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_tree_opens_one_connection_for_every_rank_but_its_root, Runner, Runners) {
    const auto ends = opened_for_data<Runner>(64, &sum_of_ranks<Tree>);
    BOOST_TEST(ends == 2 * 63U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(hundreds_may_come_at_once, Runner, Runners) {
    test::check_all_well(Runner::run(200, &sum_of_ranks<Ring>));
}

/// Two of three ranks, and what any of them must know to be called for data.
struct Pair {
    Pair() : meeting(3, LocalSockets::tcp) {
        SocketsOptions options = meeting.options(0);
        options.secret.clear();
        ranks.push_back(options);
        for (const int rank : {1, 2}) {
            ranks.push_back(meeting.options(rank));
            ranks.back().secret.clear();
        }
    }
    LocalMeeting meeting;
    std::vector<SocketsOptions> ranks;
};

/// Calls rank 0 of three with this hello before rank 2 does; the real ranks must not notice, and the caller be shut out.
void check_shut_out(const std::function<Hello(std::uint64_t session)>& hello) {
    Pair pair;
    std::latch met(3);
    std::latch called(1);
    std::optional<Descriptor> stranger;
    const auto outcomes = test::on_ranks(3, [&](int rank) {
        const SocketsOptions& options = pair.ranks[static_cast<std::size_t>(rank)];
        Met gathered = Rendezvous<SystemCalls>(options).run();
        if (rank == 1) {
            met.count_down();
            met.wait();
            stranger = connect_to(options.address, 0, Deadline::after(Seconds{20}));
            write_all<SystemCalls>(stranger->get(), encode(hello(gathered.session)), Deadline::after(Seconds{20}));
            called.count_down();
            return;
        }
        Peers<SystemCalls> peers(options, std::move(gathered));
        met.count_down();
        called.wait();
        const Deadline deadline = Deadline::after(Seconds{20});
        if (rank == 2) {
            const auto wait = [&](int descriptor, short events) { return poll_until(descriptor, events, deadline); };
            test::expect(peers.call(0, deadline, wait) == 0, "called");
            return;
        }
        while (peers[2] < 0 && !deadline.passed()) {
            std::vector<pollfd> waits;
            peers.watch(waits);
            poll_until(waits, deadline);
            peers.admit();
        }
        test::expect(peers[2] >= 0, "rank 2 is in");
        test::expect(peers[1] < 0, "nobody else is");
    });
    test::check_all_well(outcomes);
    BOOST_REQUIRE(stranger.has_value());
    BOOST_TEST(!read_message<SystemCalls>(stranger->get(), Deadline::after(Seconds{20})).has_value());
}

BOOST_AUTO_TEST_CASE(callers_that_are_no_rank_of_this_session_are_shut_out) {
    check_shut_out([](std::uint64_t session) { return Hello{1, 3, Role::data, session + 1, ""}; });
    check_shut_out([](std::uint64_t session) { return Hello{1, 3, Role::control, session, ""}; });
    check_shut_out([](std::uint64_t session) { return Hello{1, 4, Role::data, session, ""}; });
    for (const int rank : {0, 3, -1, 2'000'000'000}) {
        check_shut_out([rank](std::uint64_t session) { return Hello{rank, 3, Role::data, session, ""}; });
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_has_left_without_a_call_is_missed_soon, Runner, Runners) {
    // Rank 0 has gone as well: it cannot tell.
    const auto outcomes = Runner::run(3, [&](Sockets& link) {
        if (link.rank() == 1) test::exchange_message(link, link.begin(test::bytes_request(8)), -1, 2, 0, 8);
    });
    test::check_error(outcomes[1], ErrorKind::peer_lost, {"rank 2 is lost (it has left)"});
    BOOST_TEST(outcomes[1].rank == 2);
}

}  // namespace
