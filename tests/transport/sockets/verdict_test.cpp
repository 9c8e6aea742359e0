// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/verdict.hpp>

#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

using Waits = std::vector<std::optional<Waiting>>;

Waiting waiting(int peer, std::uint64_t sequence = 3, std::size_t size = 8) {
    return {peer, sequence, test::bytes_request(size)};
}

void check(const Failure& failure, ErrorKind kind, int rank, const std::string& text) {
    BOOST_TEST((failure.kind == kind));
    BOOST_TEST(failure.rank == rank);
    BOOST_TEST(failure.message == text);
}

const std::string call_3 = "broadcast #3 (8 uint8, 8 bytes, test)";
const std::string call_4 = "broadcast #4 (8 uint8, 8 bytes, test)";

BOOST_AUTO_TEST_CASE(who_is_waited_for_and_does_not_answer_is_to_blame) {
    check(verdict_on(0, Seconds{2}, {waiting(1), std::nullopt}), ErrorKind::timeout, 1,
          "rank 0 has waited 2 s for rank 1 in " + call_3 + "; rank 1 is in no collective, or stopped, or cut off");
}

BOOST_AUTO_TEST_CASE(the_blame_goes_along_the_chain_to_its_end) {
    check(verdict_on(2, Seconds{2}, {waiting(3), std::nullopt, waiting(0), waiting(1)}), ErrorKind::timeout, 1,
          "rank 2 has waited 2 s for rank 0 in " + call_3 +
              ", which waits for rank 3, which waits for rank 1; rank 1 is in no collective, or stopped, or cut off");
}

BOOST_AUTO_TEST_CASE(ranks_that_are_only_ahead_do_not_disagree) {
    const Failure failure = verdict_on(0, Seconds{2}, {waiting(2, 4), std::nullopt, waiting(1, 3)});
    BOOST_TEST((failure.kind == ErrorKind::timeout));
    BOOST_TEST(failure.rank == 1);
}

BOOST_AUTO_TEST_CASE(calls_of_one_number_that_differ_are_a_disagreement) {
    check(verdict_on(0, Seconds{2}, {waiting(2), std::nullopt, waiting(1, 3, 9)}), ErrorKind::transport, 2,
          "ranks disagree: rank 0 is in " + call_3 +
              ", rank 2 in broadcast #3 (9 uint8, 9 bytes, test); rank 0 has waited 2 s for rank 2 in " + call_3);
}

BOOST_AUTO_TEST_CASE(a_circle_of_different_calls_is_a_disagreement) {
    const Failure failure = verdict_on(0, Seconds{2}, {waiting(2, 4), waiting(0, 4), waiting(1, 3)});
    BOOST_TEST((failure.kind == ErrorKind::transport));
    BOOST_TEST(failure.message.starts_with("ranks disagree: rank 0 is in " + call_4 + ", rank 2 in " + call_3 + ";"));
}

BOOST_AUTO_TEST_CASE(a_circle_in_one_call_is_a_cut_connection) {
    const Failure failure = verdict_on(0, Seconds{2}, {waiting(1), waiting(2), waiting(1)});
    BOOST_TEST((failure.kind == ErrorKind::timeout));
    BOOST_TEST(failure.message.ends_with("is the connection between rank 2 and rank 1 cut?"), failure.message);
}

BOOST_AUTO_TEST_CASE(ranks_that_do_not_exist_end_the_chain) {
    for (const int peer : {-1, 2, 2'000'000'000, -2'000'000'000}) {
        BOOST_TEST(verdict_on(0, Seconds{2}, {waiting(1), waiting(peer)}).rank == peer);
    }
}

}  // namespace
