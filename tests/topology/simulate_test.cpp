// SPDX-License-Identifier: MIT
#include <lockstep/topology/simulate.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;
namespace close = boost::test_tools;

// Microseconds and nanoseconds, of a size at which each term counts.
constexpr LinkModel hockney{.latency = 20e-6, .seconds_per_byte = 1e-9, .seconds_per_byte_combined = 0.25e-9};
constexpr LinkModel loggp{
    .latency = 20e-6, .seconds_per_byte = 1e-9, .seconds_per_byte_combined = 0.25e-9, .overhead = 3e-6};
constexpr std::size_t elements = 5040 * 48;  // cut evenly by every world size below
constexpr double bytes = 4.0 * elements;

template <Topology Shape>
double seconds(int world_size, const LinkModel& model, std::size_t count = elements) {
    return simulate<Shape>(world_size, count, 4, model).seconds;
}

#define CHECK_CLOSE(value, expected) BOOST_TEST((value) == (expected), close::tolerance(1e-9))

BOOST_AUTO_TEST_CASE(ring_takes_two_rounds_a_neighbour) {
    for (const int world : {2, 3, 4, 5, 8, 9, 16}) {
        const double rounds = world - 1;
        const double piece = bytes / world;
        CHECK_CLOSE(seconds<Ring>(world, hockney), 2 * rounds * (20e-6 + piece * 1e-9) + rounds * piece * 0.25e-9);
        CHECK_CLOSE(seconds<Ring>(world, loggp), 2 * rounds * (26e-6 + piece * 1e-9) + rounds * piece * 0.25e-9);
    }
}

BOOST_AUTO_TEST_CASE(naive_queues_at_rank_0) {
    for (const int world : {2, 3, 4, 5, 8, 9, 16}) {
        // Latencies of the senders overlap; their bytes share one link; adding hides behind the bytes that follow.
        const double peers = world - 1;
        CHECK_CLOSE(seconds<Naive>(world, hockney), 2 * (20e-6 + peers * bytes * 1e-9) + bytes * 0.25e-9);
        // With slow additions it is the bytes that hide.
        LinkModel slow_adder = hockney;
        slow_adder.seconds_per_byte_combined = 2e-9;
        CHECK_CLOSE(seconds<Naive>(world, slow_adder),
                    2 * 20e-6 + bytes * 1e-9 + peers * bytes * 2e-9 + peers * bytes * 1e-9);
    }
}

BOOST_AUTO_TEST_CASE(tree_climbs_and_descends_level_by_level) {
    for (int world = 2, levels = 1; world <= 64; world *= 2, ++levels) {
        CHECK_CLOSE(seconds<Tree>(world, loggp), levels * (2 * (26e-6 + bytes * 1e-9) + bytes * 0.25e-9));
    }
}

BOOST_AUTO_TEST_CASE(butterflies_take_a_round_a_bit) {
    for (int world = 2, levels = 1; world <= 64; world *= 2, ++levels) {
        CHECK_CLOSE(seconds<RecursiveDoubling>(world, loggp), levels * (26e-6 + bytes * 1.25e-9));
        const double moved = bytes * (world - 1) / world;
        const double expected = 2 * (levels * 26e-6 + moved * 1e-9) + moved * 0.25e-9;
        CHECK_CLOSE(seconds<HalvingDoubling>(world, loggp), expected);
    }
    // Two ranks beyond the core of four hand over first and hear last. Ranks 2 and 3 do not wait for that: when rank 0 sends
    // its last message of the first half, theirs is there already, so that it then goes on to the second half.
    const double first_two = 2 * (26e-6 + bytes * 1.25e-9);
    CHECK_CLOSE(seconds<RecursiveDoubling>(6, loggp), first_two + (3e-6 + bytes * 1e-9) + (26e-6 + bytes * 1e-9));
}

BOOST_AUTO_TEST_CASE(circulant_pays_for_runs_that_pass_the_end) {
    constexpr LinkModel bytes_only{.seconds_per_byte = 1e-9};
    CHECK_CLOSE(seconds<Circulant>(2, bytes_only), bytes * 1e-9);
    for (const int world : {3, 5, 8, 9}) {
        // They go as two messages, in steps of which one direction is longer than the other.
        const double least = 2 * bytes * (world - 1) / world * 1e-9;
        BOOST_TEST(seconds<Circulant>(world, bytes_only) >= least * (1 - 1e-9));
        BOOST_TEST(seconds<Circulant>(world, bytes_only) <= least * 1.5 * (1 + 1e-9));
    }
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_added_at_the_end) {
    for (const int world : {2, 3, 4, 5, 8}) {
        const double rounds = world - 1;
        const double piece = bytes / world;
        CHECK_CLOSE(seconds<Direct>(world, loggp), 2 * rounds * (26e-6 + piece * 1e-9) + rounds * piece * 0.25e-9);
        LinkModel free_bytes;
        free_bytes.seconds_per_byte_combined = 1e-9;
        CHECK_CLOSE(seconds<Direct>(world, free_bytes), rounds * piece * 1e-9);
    }
}

BOOST_AUTO_TEST_CASE(pipelining_hides_additions_and_costs_messages) {
    using Pieces = Pipelined<Tree>;
    BOOST_TEST(seconds<Pieces>(16, loggp, 10'000'000) < seconds<Tree>(16, loggp, 10'000'000));
    BOOST_TEST(seconds<Pieces>(16, loggp, 10) > seconds<Tree>(16, loggp, 10));
    // As many bytes as before pass rank 0's link, one piece after the other.
    constexpr LinkModel bytes_only{.seconds_per_byte = 1e-9};
    CHECK_CLOSE(seconds<Pieces>(16, bytes_only), seconds<Tree>(16, bytes_only));
}

BOOST_AUTO_TEST_CASE(totals_and_finish_times) {
    const Prediction prediction = simulate<Ring>(5, 1000, 8, hockney);
    BOOST_TEST(prediction.messages == 40U);
    BOOST_TEST(prediction.bytes == 2U * 4 * 8000);
    BOOST_TEST(prediction.finish.size() == 5U);
    BOOST_TEST(prediction.seconds == *std::max_element(prediction.finish.begin(), prediction.finish.end()));
    // Rank 1 of a naive all-reduce is answered first.
    const std::vector<double> finish = simulate<Naive>(4, 1000, 4, hockney).finish;
    BOOST_TEST(finish[1] < finish[2]);
    BOOST_TEST(finish[2] < finish[3]);
}

BOOST_AUTO_TEST_CASE(copies_of_both_directions_follow_one_another) {
    constexpr LinkModel copies{.seconds_per_byte = 1e-9, .seconds_per_byte_copied = 1e-9};
    // One way, the sender's copies, the way, and the receiver's copies are under way at the same time.
    CHECK_CLOSE(seconds<Tree>(2, copies), 2 * bytes * 1e-9);
    // Both ways, a rank copies what it sends and what it receives; each round moves half of the bytes.
    CHECK_CLOSE(seconds<Ring>(2, copies), 2 * (bytes / 2) * 2e-9);
    constexpr LinkModel fast_copies{.seconds_per_byte = 1e-9, .seconds_per_byte_copied = 0.25e-9};
    CHECK_CLOSE(seconds<Ring>(2, fast_copies), bytes * 1e-9);
}

BOOST_AUTO_TEST_CASE(ranks_that_share_processors_take_turns) {
    LinkModel model{.overhead = 1e-6};
    CHECK_CLOSE(seconds<Ring>(8, model), 14 * 2e-6);
    // 8 ranks, 14 messages each, a microsecond at either end, done by two.
    model.at_once = 2;
    CHECK_CLOSE(seconds<Ring>(8, model), 8 * 14 * 2e-6 / 2);
    const Prediction shared = simulate<Ring>(8, 1000, 4, model);
    BOOST_TEST(*std::max_element(shared.finish.begin(), shared.finish.end()) == shared.seconds);
    model.at_once = 8;
    CHECK_CLOSE(seconds<Ring>(8, model), 14 * 2e-6);
    // Bytes on the way are nobody's work; copies and additions are.
    model = {.seconds_per_byte = 1e-9, .at_once = 1};
    CHECK_CLOSE(seconds<Ring>(4, model), 2 * 3 * bytes / 4 * 1e-9);
    model = {.seconds_per_byte_combined = 1e-9, .seconds_per_byte_copied = 1e-9, .at_once = 1};
    CHECK_CLOSE(seconds<Ring>(4, model), 2 * 3 * bytes * 2e-9 + 3 * bytes * 1e-9);
    BOOST_CHECK_THROW(seconds<Ring>(4, {.at_once = -1}), ConfigurationError);
}

BOOST_AUTO_TEST_CASE(a_slow_rank) {
    LinkModel model{.overhead = 1e-6, .slow_rank = 1, .slowdown = 10};
    // Over two ranks, each round is one overhead of the sender and one of the receiver: 1 + 10 or 10 + 1, but rank 1 must
    // send before it can receive.
    CHECK_CLOSE(seconds<Ring>(2, model), 2 * 20e-6);
    // A ring waits for it in every round, a naive all-reduce only where it takes part.
    model = hockney;
    model.slow_rank = 3;
    model.slowdown = 10;
    BOOST_TEST(seconds<Ring>(16, model) > 5 * seconds<Ring>(16, hockney));
    BOOST_TEST(seconds<Naive>(16, model) < 3 * seconds<Naive>(16, hockney));
    // Its link is slow for whoever sends to it, too.
    model = {.seconds_per_byte = 1e-9, .slow_rank = 1, .slowdown = 4};
    CHECK_CLOSE(seconds<Naive>(2, model), 2 * bytes * 4e-9);
    model.slowdown = 1;
    CHECK_CLOSE(seconds<Naive>(2, model), 2 * bytes * 1e-9);
}

BOOST_AUTO_TEST_CASE(no_elements_still_cost_messages) {
    CHECK_CLOSE(seconds<Ring>(4, loggp, 0), 6 * 26e-6);
    const Prediction prediction = simulate<Ring>(4, 0, 4, loggp);
    BOOST_TEST(prediction.messages == 24U);
    BOOST_TEST(prediction.bytes == 0U);
}

template <Topology... Shapes>
void check_one_rank() {
    (
        [] {
            const Prediction prediction = simulate<Shapes>(1, 1000, 4, loggp);
            BOOST_TEST(prediction.seconds == 0.0);
            BOOST_TEST(prediction.finish == std::vector<double>{0.0});
            BOOST_TEST(prediction.messages == 0U);
        }(),
        ...);
}

BOOST_AUTO_TEST_CASE(one_rank_has_nothing_to_wait_for) {
    check_one_rank<Naive, Tree, Ring, RecursiveDoubling, HalvingDoubling, Circulant, DoubleTree, Pipelined<Tree>,
                   Hierarchical<Ring, Ring, 4>>();
}

BOOST_AUTO_TEST_CASE(messages_are_those_that_the_schedule_counts) {
    for (const int world : {2, 3, 7, 12}) {
        std::uint64_t messages = 0;
        std::uint64_t sent = 0;
        for (int rank = 0; rank < world; ++rank) {
            const Counts counts = counts_of<Hierarchical<Direct, DoubleTree, 3>>(rank, world, 997);
            messages += counts.messages_sent;
            sent += counts.elements_sent;
        }
        const Prediction prediction = simulate<Hierarchical<Direct, DoubleTree, 3>>(world, 997, 8, hockney);
        BOOST_TEST(prediction.messages == messages);
        BOOST_TEST(prediction.bytes == sent * 8);
    }
}

// ---- Schedules that cannot be run -------------------------------------------------------------------------------

template <class Shape>
std::string error_of(int world_size, const LinkModel& model = hockney) {
    try {
        simulate<Shape>(world_size, 1000, 4, model);
    } catch (const ConfigurationError& error) {
        return error.what();
    }
    return "no error";
}

struct Polite : Naive {  // both wait for the other's message before they send
    static constexpr const char* name = "polite";
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        emit(Step{.receive = {1 - rank, 0, 1}, .fold = Fold::add});
        emit(Step{.send = {1 - rank, 0, 1}});
    }
};
BOOST_AUTO_TEST_CASE(a_deadlock_names_rank_and_step) {
    BOOST_TEST(error_of<Polite>(2) ==
               "simulate: polite over 2 ranks: rank 0 waits for ever for rank 1 in step 0 of reduce");
}

struct Unheard : Naive {  // sends what nobody receives
    template <class Emit>
    static constexpr void distribute(int rank, int world, Emit&& emit) {
        Naive::distribute(rank, world, emit);
        if (rank == 0) emit(Step{.send = {2, 0, 1}});
    }
};
struct Silent : Naive {  // expects what nobody sends
    template <class Emit>
    static constexpr void distribute(int rank, int, Emit&& emit) {
        if (rank != 0) emit(Step{.receive = {0, 0, 1}});
    }
};
struct Crossed : Ring {  // sends another chunk than the neighbour expects
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        Ring::reduce(rank, world, [&](Step step) {
            step.send.first_chunk = rank;
            emit(step);
        });
    }
};
struct Stray : Naive {  // names a rank that is not there
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        emit(Step{.send = {rank == 1 ? world : 1 - rank, 0, 1}});
    }
};
struct Overreaching : Naive {
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        if (rank == 1) emit(Step{.send = {0, 0, 2}});
    }
};
BOOST_AUTO_TEST_CASE(messages_that_do_not_meet) {
    BOOST_TEST(error_of<Unheard>(3) ==
               "simulate: naive over 3 ranks: rank 0 sends what rank 2 never receives in step 2 of distribute");
    BOOST_TEST(
        error_of<Silent>(3) ==
        "simulate: naive over 3 ranks: rank 1 waits for ever for rank 0, who does not send, in step 0 of distribute");
    BOOST_TEST(error_of<Crossed>(3) ==
               "simulate: ring over 3 ranks: rank 0 receives other chunks than rank 2 sends in step 0 of reduce");
    BOOST_TEST(error_of<Stray>(2) == "simulate: naive over 2 ranks: rank 1 names rank 2 in step 0 of reduce");
    BOOST_TEST(error_of<Overreaching>(2) ==
               "simulate: naive over 2 ranks: rank 1 names chunks that do not exist in step 0 of reduce");
}

BOOST_AUTO_TEST_CASE(models_and_worlds_that_are_none) {
    BOOST_TEST(error_of<Ring>(0) == "simulate: world_size must be at least 1, not 0");
    BOOST_TEST(error_of<Ring>(4, {.latency = -1}).find("simulate: a cost is -1") == 0U);
    BOOST_TEST(error_of<Ring>(4, {.slow_rank = 4}) == "simulate: there is no slow_rank 4");
}

// ---- Thousands of ranks -----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_thousand_ranks) {
    const double rounds = 1023;
    CHECK_CLOSE(seconds<Ring>(1024, hockney, 1024 * 100), 2 * rounds * (20e-6 + 400 * 1e-9) + rounds * 400 * 0.25e-9);
    BOOST_TEST(simulate<DoubleTree>(1024, 100'000, 4, hockney).messages > 0U);
}

}  // namespace
