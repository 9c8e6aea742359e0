// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/rendezvous.hpp>

#include <algorithm>
#include <cstddef>
#include <latch>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/free_port.hpp"
#include "support/messages.hpp"
#include "support/tmpdir.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

constexpr LocalSockets kinds[] = {LocalSockets::tcp, LocalSockets::unix_domain};

Deadline late() { return Deadline::after(Seconds{30}); }

SocketsOptions rank_at(const std::string& address, int rank, int world_size, Seconds join_timeout = Seconds{20}) {
    return {.rank = rank, .world_size = world_size, .address = address, .join_timeout = join_timeout};
}

/// Joins and goes round once, to see that all are there.
void join(const SocketsOptions& options) {
    Sockets link(options);
    test::go_round(link, link.begin(test::bytes_request(8)));
}

/// How the ranks with these options end, each on a thread of its own.
std::vector<test::Outcome> join_all(const std::vector<SocketsOptions>& ranks) {
    return test::on_ranks(static_cast<int>(ranks.size()),
                          [&](int index) { join(ranks[static_cast<std::size_t>(index)]); });
}

/// Without a secret, so that ranks can be played by hand.
SocketsOptions open_to_all(SocketsOptions options) {
    options.secret.clear();
    return options;
}

/// A rank played by hand: what it says is there before any other rank has started.
Descriptor by_hand(const std::string& address, const Hello& hello) {
    Descriptor connection = connect_to(address, 0, late());
    BOOST_REQUIRE(write_all<SystemCalls>(connection.get(), encode(hello), late()));
    return connection;
}
std::optional<Message> heard_on(const Descriptor& connection) {
    return read_message<SystemCalls>(connection.get(), late());
}

BOOST_AUTO_TEST_CASE(ranks_may_leave_as_soon_as_they_have_met) {
    for (const LocalSockets kind : kinds) {
        for (int round = 0; round < 20; ++round) {
            LocalMeeting meeting(5, kind);
            std::vector<SocketsOptions> options;
            for (int rank = 0; rank < 5; ++rank) options.push_back(meeting.options(rank));
            test::check_all_well(
                test::on_ranks(5, [&](int rank) { Sockets link(options[static_cast<std::size_t>(rank)]); }));
        }
    }
}

BOOST_AUTO_TEST_CASE(rank_0_may_come_last) {
    for (const LocalSockets kind : kinds) {
        const test::OwnTmpdir tmpdir;
        const test::FreePort port;
        const std::string address = kind == LocalSockets::tcp ? port.address() : "unix:" + tmpdir.path() + "/socket";
        std::latch others(2);
        test::check_all_well(test::on_ranks(3, [&](int rank) {
            if (rank == 0) others.wait();
            else others.count_down();
            join(rank_at(address, rank, 3));
        }));
        // And no name of a socket stays behind.
        BOOST_TEST(tmpdir.entries() == 0U);
    }
}

BOOST_AUTO_TEST_CASE(the_protocol_is_what_the_header_says) {
    LocalMeeting meeting(2, LocalSockets::tcp);
    SocketsOptions host = open_to_all(meeting.options(0));
    host.job = 77;
    const std::string address = host.address;
    std::optional<test::Outcome> outcome;
    std::jthread rank_0([&] { outcome = test::outcome_of([&] { join(host); }); });

    const Descriptor listener = listen_at("127.0.0.1:0", 0);
    const std::string own = to_text(local_address(listener.get()));
    const Descriptor control = by_hand(address, {1, 2, Role::control, 77, own});
    const auto table = heard_on(control);
    const auto session = table ? decode_welcome(table->payload) : std::nullopt;
    BOOST_REQUIRE(session.has_value());
    const Descriptor data = by_hand(address, {1, 2, Role::data, session->session, ""});
    const auto welcome = heard_on(data);
    // Four messages each way, then a goodbye.
    const Header header{.request = test::bytes_request(8), .sequence = 0, .bytes = 8};
    bool exact = true;
    for (int step = 0; step < 4; ++step) {
        write_all<SystemCalls>(data.get(), encode(header), late());
        write_all<SystemCalls>(data.get(), test::message(1, 0, 8), late());
        std::vector<std::byte> theirs(header_bytes + 8);
        exact = exact && read_all<SystemCalls>(data.get(), theirs, late());
        const auto expected = encode(header);
        const auto payload = test::message(0, 0, 8);
        exact = exact && std::equal(expected.begin(), expected.end(), theirs.begin());
        exact = exact && std::equal(payload.begin(), payload.end(), theirs.begin() + header_bytes);
    }
    const auto goodbye = heard_on(control);
    rank_0.join();

    BOOST_TEST(!outcome->threw, outcome->message);
    BOOST_REQUIRE((welcome && goodbye));
    BOOST_TEST(text_of(std::span(table->payload).subspan(8)) == address + "\n" + own + "\n");
    BOOST_TEST((table->kind() == FrameKind::welcome && welcome->kind() == FrameKind::welcome));
    BOOST_TEST((goodbye->kind() == FrameKind::goodbye));
    BOOST_TEST(exact);
}

// ---- Ranks that should not be ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_rank_claimed_twice_is_an_error_on_all) {
    for (const LocalSockets kind : kinds) {
        LocalMeeting meeting(3, kind);
        const auto outcomes = join_all({meeting.options(0), meeting.options(1), meeting.options(1)});
        for (const auto& outcome : outcomes) {
            test::check_error(outcome, ErrorKind::configuration, {"rank 1 is claimed twice"});
            BOOST_TEST(outcome.rank == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(rank_0_claimed_twice_is_an_error_for_the_second_and_not_for_the_first) {
    for (const LocalSockets kind : kinds) {
        LocalMeeting meeting(2, kind);
        const SocketsOptions first = meeting.options(0);
        const auto second = test::outcome_of([&] { join(rank_at(first.address, 0, 2)); });
        test::check_error(second, ErrorKind::transport,
                          {"cannot listen at " + first.address, "Address already in use", "this rank claimed twice"});
        test::check_all_well(join_all({first, meeting.options(1)}));
    }
}

BOOST_AUTO_TEST_CASE(a_socket_name_taken_by_somebody_else_is_an_error_on_all) {
    const test::OwnTmpdir tmpdir;
    const std::string address = "unix:" + tmpdir.path() + "/socket";
    const Descriptor foreign = listen_at(address + ".1", 0);
    for (const auto& outcome : join_all({rank_at(address, 0, 3), rank_at(address, 1, 3), rank_at(address, 2, 3)})) {
        test::check_error(outcome, ErrorKind::transport,
                          {"cannot listen at " + address + ".1", "Address already in use"});
        BOOST_TEST(outcome.rank == 1);
    }
    for (const char* const suffix : {"", ".1", ".2"}) remove_name(address + suffix);
}

BOOST_AUTO_TEST_CASE(other_ideas_of_the_world_are_an_error_on_all) {
    LocalMeeting meeting(3, LocalSockets::tcp);
    const SocketsOptions host = open_to_all(meeting.options(0));
    const Descriptor rank_1 = by_hand(host.address, {1, 3, Role::control, 0, "127.0.0.1:1"});
    const auto outcomes = join_all({host, rank_at(host.address, 2, 4)});
    const std::string text = "rank 0 expects a world of 3 ranks, rank 2 says 4";
    for (const auto& outcome : outcomes) test::check_error(outcome, ErrorKind::configuration, {text});
    const auto told = heard_on(rank_1);
    BOOST_REQUIRE((told && told->kind() == FrameKind::failure));
    BOOST_TEST(failure_in(told, 0).message == text);
}

BOOST_AUTO_TEST_CASE(ranks_outside_the_world_are_an_error) {
    for (const int rank : {-1, -2'000'000'000, 3, 2'000'000'000, 0}) {
        LocalMeeting meeting(3, LocalSockets::tcp);
        const SocketsOptions host = open_to_all(meeting.options(0));
        const Descriptor odd = by_hand(host.address, {rank, 3, Role::control, 0, "127.0.0.1:1"});
        test::check_error(test::outcome_of([&] { join(host); }), ErrorKind::configuration,
                          {"rank " + std::to_string(rank)});
    }
}

BOOST_AUTO_TEST_CASE(ranks_of_another_job_are_not_let_in) {
    LocalMeeting meeting(2, LocalSockets::tcp);
    SocketsOptions host = open_to_all(meeting.options(0));
    SocketsOptions guest = open_to_all(meeting.options(1));
    host.job = guest.job = 8;
    const Descriptor stale = by_hand(host.address, {1, 2, Role::control, 7, "127.0.0.1:1"});
    test::check_all_well(join_all({host, guest}));
    BOOST_TEST(!heard_on(stale).has_value());
}

BOOST_AUTO_TEST_CASE(strangers_do_not_keep_a_job_from_starting) {
    LocalMeeting meeting(3, LocalSockets::tcp);
    const SocketsOptions host = meeting.options(0);
    const auto say = [&](std::string_view text) {
        Descriptor stranger = connect_to(host.address, 0, late());
        write_all<SystemCalls>(stranger.get(), std::as_bytes(std::span(text)), late());
        return stranger;
    };
    std::vector<Descriptor> strangers;
    for (int index = 0; index < 50; ++index) strangers.push_back(say("GET / HTTP/1.1\r\n\r\n"));
    strangers.push_back(say(std::string(1000, '\xFF')));
    strangers.push_back(say(""));  // silent to the end
    strangers.push_back(say("LKST\1\1"));
    say("GET / HTTP/1.1\r\n\r\n").reset();
    say("").reset();
    test::check_all_well(join_all({host, meeting.options(1), meeting.options(2)}));
}

// ---- Ranks that do not come ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(missing_ranks_are_named_to_those_who_came) {
    LocalMeeting meeting(5, LocalSockets::tcp);
    const SocketsOptions host = meeting.options(0);
    std::vector<SocketsOptions> ranks{host, meeting.options(2), meeting.options(4)};
    for (SocketsOptions& options : ranks) options.join_timeout = Seconds{0.3};
    for (const auto& outcome : join_all(ranks)) {
        test::check_error(outcome, ErrorKind::timeout, {"0.3 s at " + host.address, "missing of 5 ranks: 1, 3"});
        BOOST_TEST(outcome.rank == 1);
    }
}

BOOST_AUTO_TEST_CASE(nobody_at_all_is_named_by_address) {
    const test::FreePort port;
    test::check_error(test::outcome_of([&] { join(rank_at(port.address(), 1, 2, Seconds{0.1})); }), ErrorKind::timeout,
                      {"nobody answers at " + port.address(), "Connection refused"});
}

BOOST_AUTO_TEST_CASE(a_rank_0_that_says_nothing_is_waited_for_no_longer_than_that) {
    const Descriptor deaf = listen_at("127.0.0.1:0", 0);
    const std::string address = to_text(local_address(deaf.get()));
    test::check_error(test::outcome_of([&] { join(rank_at(address, 1, 2, Seconds{0.1})); }), ErrorKind::timeout,
                      {"rank 1 has waited 0.1 s at " + address});
}

BOOST_AUTO_TEST_CASE(a_rank_that_hangs_up_while_joining_is_named_at_once) {
    LocalMeeting meeting(3, LocalSockets::tcp);
    const SocketsOptions host = open_to_all(meeting.options(0));
    by_hand(host.address, {2, 3, Role::control, 0, "127.0.0.1:1"}).reset();
    test::check_error(test::outcome_of([&] { join(host); }), ErrorKind::peer_lost, {"rank 2 is lost"});
}

BOOST_AUTO_TEST_CASE(a_rank_0_that_speaks_nonsense_is_an_error) {
    const auto outcome_after = [](const std::vector<std::byte>& answer) {
        const Descriptor listener = listen_at("127.0.0.1:0", 0);
        const std::string address = to_text(local_address(listener.get()));
        std::optional<test::Outcome> outcome;
        std::jthread rank_1([&] { outcome = test::outcome_of([&] { join(rank_at(address, 1, 2)); }); });
        poll_until(listener.get(), POLLIN, late());
        const Descriptor control(::accept(listener.get(), nullptr, nullptr));
        write_all<SystemCalls>(control.get(), answer, late());
        rank_1.join();
        return *outcome;
    };
    const auto table = [](std::string_view text) {
        const std::string whole = "12345678" + std::string(text);
        return control_frame(FrameKind::welcome, std::as_bytes(std::span(whole)));
    };
    test::check_error(outcome_after(control_frame(FrameKind::welcome, {})), ErrorKind::transport, {"rank 0", "0 addr"});
    test::check_error(outcome_after(table("a:1\nb:2\nc:3\n")), ErrorKind::transport, {"rank 0", "3 addresses of 2"});
    test::check_error(outcome_after(table("")), ErrorKind::transport, {"rank 0", "0 addresses of 2"});
    test::check_error(outcome_after(std::vector<std::byte>(48)), ErrorKind::peer_lost, {"rank 0 is lost"});
    test::check_error(outcome_after(control_frame(FrameKind::goodbye, {})), ErrorKind::peer_lost, {"rank 0"});
}

// ---- Secrets ------------------------------------------------------------------------------------------------

/// Lines that rank 0 has reported, at once, of callers with another secret.
int refusals = 0;

/// How two ranks end that have these secrets; they wait for each other for a second.
std::vector<test::Outcome> meet(LocalSockets kind, const std::string& secret_of_0, const std::string& secret_of_1) {
    LocalMeeting meeting(2, kind);
    std::vector<SocketsOptions> options{meeting.options(0), meeting.options(1)};
    options[0].secret = secret_of_0;
    options[1].secret = secret_of_1;
    for (SocketsOptions& each : options) each.join_timeout = Seconds{1};
    options[0].report = [](const std::string& line) {
        refusals += line.find("has another LOCKSTEP_SECRET") != std::string::npos ? 1 : 0;
    };
    return join_all(options);
}

BOOST_AUTO_TEST_CASE(ranks_that_know_the_secret_meet) {
    for (const LocalSockets kind : kinds) {
        test::check_all_well(meet(kind, "open sesame", "open sesame"));
        test::check_all_well(meet(kind, std::string(1000, 'x'), std::string(1000, 'x')));
        test::check_all_well(meet(kind, "", ""));
    }
}

BOOST_AUTO_TEST_CASE(a_rank_with_another_secret_finds_out_and_does_not_disturb_the_rest) {
    for (const LocalSockets kind : kinds) {
        refusals = 0;
        const auto outcomes = meet(kind, "open sesame", "open barley");
        BOOST_TEST(refusals == 1);
        test::check_error(outcomes[0], ErrorKind::timeout,
                          {"missing of 2 ranks: 1", "that says it is rank 1 has another LOCKSTEP_SECRET than rank 0"});
        test::check_error(outcomes[1], ErrorKind::configuration, {"rank 0 does not know this rank's LOCKSTEP_SECRET"});
    }
}

BOOST_AUTO_TEST_CASE(a_rank_without_the_secret_is_a_stranger) {
    for (const LocalSockets kind : kinds) {
        const auto outcomes = meet(kind, "open sesame", "");
        test::check_error(outcomes[0], ErrorKind::timeout, {"missing of 2 ranks: 1"});
        BOOST_TEST(outcomes[1].threw);
    }
}

BOOST_AUTO_TEST_CASE(a_rank_0_without_the_secret_is_refused_by_those_who_have_it) {
    for (const LocalSockets kind : kinds) {
        const auto outcomes = meet(kind, "", "open sesame");
        for (const auto& outcome : outcomes) test::check_error(outcome, ErrorKind::configuration, {"LOCKSTEP_SECRET"});
    }
}

/// What a guest of a lobby with the secret "open sesame" turns out to be that says hello and sends this challenge and
/// what `answer_to(challenge of the lobby)` gives.
template <class AnswerTo>
Guest::State state_of(const Hello& hello, const Challenge& challenge, const AnswerTo& answer_to) {
    int ends[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    Guest guest{Descriptor{ends[0]}, late()};
    const Descriptor far(ends[1]);
    write_all<SystemCalls>(far.get(), encode(hello), late());
    write_all<SystemCalls>(far.get(), control_frame(FrameKind::challenge, challenge), late());
    BOOST_TEST((guest.read<SystemCalls>(0, "open sesame") == Guest::State::waiting));
    const auto proof = heard_on(far);
    BOOST_REQUIRE((proof && proof->kind() == FrameKind::proof && proof->payload.size() == 16 + 32));
    const Challenge theirs = challenge_in(proof->payload);
    // The lobby has proved that it knows the secret, for this connection.
    const auto introduction = encode(hello);
    BOOST_TEST(same_digest(
        std::span(proof->payload).subspan(16),
        proof_of("open sesame", Speaker::listener, std::span(introduction).subspan(header_bytes), challenge, theirs)));
    write_all<SystemCalls>(far.get(), control_frame(FrameKind::proof, answer_to(theirs)), late());
    return guest.read<SystemCalls>(0, "open sesame");
}

BOOST_AUTO_TEST_CASE(proofs_are_worth_nothing_on_another_connection_or_for_another_rank) {
    const Hello hello{1, 2, Role::control, 0, "127.0.0.1:1"};
    const Challenge challenge = random_challenge();
    const auto proof = [&](const std::string& secret, Speaker who, const Hello& whose, const Challenge& theirs) {
        const auto frame = encode(whose);
        return proof_of(secret, who, std::span(frame).subspan(header_bytes), challenge, theirs);
    };
    const auto state = [&](const auto& answer_to) { return state_of(hello, challenge, answer_to); };
    using State = Guest::State;
    BOOST_TEST(
        (state([&](auto& theirs) { return proof("open sesame", Speaker::caller, hello, theirs); }) == State::ready));
    BOOST_TEST(
        (state([&](auto& theirs) { return proof("open barley", Speaker::caller, hello, theirs); }) == State::stranger));
    // The lobby's own proof, sent back to it.
    BOOST_TEST((state([&](auto& theirs) { return proof("open sesame", Speaker::listener, hello, theirs); }) ==
                State::stranger));
    // One that was overheard on an earlier connection.
    BOOST_TEST((state([&](auto&) { return proof("open sesame", Speaker::caller, hello, random_challenge()); }) ==
                State::stranger));
    // Another rank's.
    const Hello other{2, 2, Role::control, 0, "127.0.0.1:1"};
    BOOST_TEST(
        (state([&](auto& theirs) { return proof("open sesame", Speaker::caller, other, theirs); }) == State::stranger));
    BOOST_TEST((state([](auto&) { return Sha256Digest{}; }) == State::stranger));
}

BOOST_AUTO_TEST_CASE(beyond_this_host_a_secret_is_demanded_before_anything_is_opened) {
    const std::size_t descriptors = test::open_descriptors();
    for (const char* const address : {"10.1.2.3:5", "[2001:db8::1]:5", "0.0.0.0:5"}) {
        for (const int rank : {0, 1}) {
            const auto outcome = test::outcome_of([&] { join(rank_at(address, rank, 2)); });
            test::check_error(outcome, ErrorKind::configuration, {address, "LOCKSTEP_SECRET", "LOCKSTEP_INSECURE=1"});
        }
    }
    BOOST_TEST(test::open_descriptors() == descriptors);
    // With it, or on demand, there is only nobody to be met.
    SocketsOptions options = rank_at("0.0.0.0:0", 0, 2, Seconds{0.1});
    options.secret = "open sesame";
    test::check_error(test::outcome_of([&] { join(options); }), ErrorKind::timeout, {"missing of 2 ranks: 1"});
    options.secret.clear();
    options.insecure = true;
    test::check_error(test::outcome_of([&] { join(options); }), ErrorKind::timeout, {"missing of 2 ranks: 1"});
}

}  // namespace
