// SPDX-License-Identifier: MIT
// The verifier must be able to say no: one broken topology for each fault that it knows.
#include <lockstep/topology/verify.hpp>

#include <string>

#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Direct;
using lockstep::Fold;
using lockstep::Naive;
using lockstep::Ring;
using lockstep::Step;
using lockstep::verify;

/// Correct butterfly for powers of two: everybody owns everything, sent and received ranges are the same.
struct Butterfly {
    static constexpr const char* name = "butterfly";
    static constexpr int chunks(int) { return 1; }
    static constexpr bool owns(int, int, int) { return true; }
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        for (int bit = 1; bit < world; bit *= 2) {
            emit(Step{.send = {rank ^ bit, 0, 1}, .receive = {rank ^ bit, 0, 1}, .fold = Fold::add});
        }
    }
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};

static_assert(verify<Butterfly>(1) && verify<Butterfly>(2) && verify<Butterfly>(8));

template <class Shape>
std::string fault_of(int world) {
    return verify<Shape>(world).text();
}
#define CHECK_FAULT(Shape, world, expected) \
    BOOST_TEST(fault_of<Shape>(world).find(expected) == 0U, fault_of<Shape>(world))

BOOST_AUTO_TEST_CASE(correct_ones_pass) {
    BOOST_TEST(fault_of<Butterfly>(64) == "correct");
    BOOST_TEST(fault_of<Ring>(7) == "correct");
}

BOOST_AUTO_TEST_CASE(world_sizes_beyond_the_proof_are_refused) {
    CHECK_FAULT(Ring, 0, "can be verified for 1 to 64 ranks only");
    CHECK_FAULT(Ring, 65, "can be verified for 1 to 64 ranks only");
}

BOOST_AUTO_TEST_CASE(a_butterfly_over_three_ranks_names_a_rank_that_is_not_there) {
    CHECK_FAULT(Butterfly, 3, "names no rank");
}

struct Forgetful : Naive {  // leaves the last rank out
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        if (rank == world - 1) return;
        Naive::reduce(rank, world - 1, emit);
    }
};
BOOST_AUTO_TEST_CASE(a_missing_contribution) { CHECK_FAULT(Forgetful, 4, "owns a chunk that lacks contributions"); }

struct Doubling : Naive {  // everybody contributes twice
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        Naive::reduce(rank, world, emit);
        Naive::reduce(rank, world, emit);
    }
};
BOOST_AUTO_TEST_CASE(a_contribution_twice) { CHECK_FAULT(Doubling, 3, "adds a contribution twice"); }

struct Silent : Naive {
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};
BOOST_AUTO_TEST_CASE(a_result_kept_back) { CHECK_FAULT(Silent, 2, "ends without the owner's chunk"); }

struct Polite : Naive {  // both wait for the other's message before they send
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        emit(Step{.receive = {1 - rank, 0, 1}, .fold = Fold::add});
        emit(Step{.send = {1 - rank, 0, 1}});
    }
};
BOOST_AUTO_TEST_CASE(a_deadlock) { CHECK_FAULT(Polite, 2, "waits for ever"); }

struct Unheard : Naive {  // sends what nobody receives
    template <class Emit>
    static constexpr void distribute(int rank, int world, Emit&& emit) {
        Naive::distribute(rank, world, emit);
        if (rank == 0) emit(Step{.send = {1, 0, 1}});
    }
};
BOOST_AUTO_TEST_CASE(a_send_without_a_receive) { CHECK_FAULT(Unheard, 2, "waits for ever"); }

struct Crossed : Ring {  // expects its right neighbour's chunk from the left
    template <class Emit>
    static constexpr void distribute(int rank, int world, Emit&& emit) {
        Ring::distribute(rank, world, [&](Step step) {
            step.receive.first_chunk = (step.receive.first_chunk + 1) % world;
            emit(step);
        });
    }
};
BOOST_AUTO_TEST_CASE(other_chunks_than_are_sent) { CHECK_FAULT(Crossed, 4, "receives other chunks than are sent"); }

struct Early : Naive {  // passes on what it does not have yet
    template <class Emit>
    static constexpr void distribute(int rank, int, Emit&& emit) {
        if (rank == 1) emit(Step{.send = {0, 0, 1}});
        if (rank == 0) emit(Step{.receive = {1, 0, 1}});
    }
};
BOOST_AUTO_TEST_CASE(a_chunk_that_holds_nothing) { CHECK_FAULT(Early, 2, "receives a chunk that holds nothing yet"); }

struct Selfish : Naive {
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        emit(Step{.send = {rank, 0, 1}});
    }
};
BOOST_AUTO_TEST_CASE(a_message_to_itself) { CHECK_FAULT(Selfish, 2, "talks to itself"); }

struct Beyond : Naive {
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        if (rank == 1) emit(Step{.send = {0, 1, 1}});
    }
};
BOOST_AUTO_TEST_CASE(chunks_that_do_not_exist) { CHECK_FAULT(Beyond, 2, "names chunks that do not exist"); }

struct Orphaned : Naive {
    static constexpr bool owns(int, int, int) { return false; }
};
BOOST_AUTO_TEST_CASE(a_chunk_without_owner) { CHECK_FAULT(Orphaned, 2, "has a chunk that nobody owns"); }

/// All gather all, but each adds in an order of its own: sums agree on paper, not in bits.
struct Disorderly {
    static constexpr const char* name = "disorderly";
    static constexpr int chunks(int) { return 3; }
    static constexpr bool owns(int rank, int, int) { return rank < 2; }
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        // Rank 0 gets (0 + 1) + 2, rank 1 gets (1 + 2) + 0.
        if (rank == 0) {
            emit(Step{.send = {1, 0, 3}, .receive = {1, 0, 3}, .fold = Fold::copy});
        }
        if (rank == 1) emit(Step{.send = {0, 0, 3}, .receive = {0, 0, 3}, .fold = Fold::add});
    }
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};
BOOST_AUTO_TEST_CASE(owners_must_agree) { CHECK_FAULT(Disorderly, 2, "owns a chunk that lacks contributions"); }

/// Four ranks, two owners: rank 0 holds (0 + 1) + (2 + 3), rank 3 holds ((3 + 2) + 1) + 0.
struct TwoOrders {
    static constexpr const char* name = "two orders";
    static constexpr int chunks(int) { return 1; }
    static constexpr bool owns(int rank, int, int) { return rank == 0 || rank == 3; }
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        const auto send = [&](int peer) { emit(Step{.send = {peer, 0, 1}}); };
        const auto add = [&](int peer) { emit(Step{.receive = {peer, 0, 1}, .fold = Fold::add}); };
        if (rank == 2) send(3);
        if (rank == 3) add(2);
        if (rank == 1) send(3);
        if (rank == 3) add(1);
        if (rank == 0) send(3);
        if (rank == 3) add(0);
        if (rank == 1) send(0);
        if (rank == 0) add(1);
        if (rank == 3) send(2);
    }
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};
BOOST_AUTO_TEST_CASE(a_send_that_nobody_takes_is_a_wait_for_ever) { CHECK_FAULT(TwoOrders, 4, "waits for ever"); }

/// Three ranks: rank 0 sums (0 + 1) + 2, rank 2 sums (2 + 1) + 0. All contributions, other bits.
struct OtherBits {
    static constexpr const char* name = "other bits";
    static constexpr int chunks(int) { return 1; }
    static constexpr bool owns(int rank, int, int) { return rank != 1; }
    template <class Emit>
    static constexpr void reduce(int rank, int, Emit&& emit) {
        // Rank 1 hands its value to both, then 0 and 2 swap what is theirs: the swap must send the plain values, so
        // it comes first and each adds rank 1's value in its own place.
        if (rank == 0) {
            emit(Step{.send = {2, 0, 1}, .receive = {1, 0, 1}, .fold = Fold::add});
            emit(Step{.receive = {2, 0, 1}, .fold = Fold::add});
        }
        if (rank == 1) {
            emit(Step{.send = {0, 0, 1}});
            emit(Step{.send = {2, 0, 1}});
        }
        if (rank == 2) {
            emit(Step{.send = {0, 0, 1}, .receive = {0, 0, 1}, .fold = Fold::add});
            emit(Step{.receive = {1, 0, 1}, .fold = Fold::add});
        }
    }
    template <class Emit>
    static constexpr void distribute(int rank, int, Emit&& emit) {
        if (rank == 0) emit(Step{.send = {1, 0, 1}});
        if (rank == 1) emit(Step{.receive = {0, 0, 1}});
    }
};
BOOST_AUTO_TEST_CASE(owners_with_other_bits) {
    CHECK_FAULT(OtherBits, 3, "owns a chunk with other bits than another owner");
}

struct Hoarding : Direct {  // never adds
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        Direct::reduce(rank, world, [&](const Step& step) {
            if (step.fold != Fold::add_kept) emit(step);
        });
    }
};
BOOST_AUTO_TEST_CASE(contributions_that_are_never_added) { CHECK_FAULT(Hoarding, 3, "never adds what it keeps"); }

struct Hasty : Direct {  // adds before anything has come
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        if (world > 1) emit(Step{.receive = {-1, rank, 1}, .fold = Fold::add_kept});
        Direct::reduce(rank, world, emit);
    }
};
BOOST_AUTO_TEST_CASE(contributions_that_are_added_before_they_have_come) {
    CHECK_FAULT(Hasty, 3, "adds what it has not kept");
}

struct Busy : Direct {  // sends while it adds
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        Direct::reduce(rank, world, [&](Step step) {
            if (step.fold == Fold::add_kept) step.send = {(rank + 1) % world, rank, 1};
            emit(step);
        });
    }
};
BOOST_AUTO_TEST_CASE(a_step_that_adds_what_was_kept_moves_nothing) {
    CHECK_FAULT(Busy, 3, "sends in a step that only adds what was kept");
}

struct Greedy : Naive {  // rank 0 keeps everybody's whole buffer, to add them in rank order
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        Naive::reduce(rank, world, [&](Step step) {
            if (step.receive.any()) step.fold = Fold::keep;
            emit(step);
        });
        if (rank == 0 && world > 1) emit(Step{.receive = {-1, 0, 1}, .fold = Fold::add_kept});
    }
};
BOOST_AUTO_TEST_CASE(memory_for_what_is_kept_is_bounded_by_the_buffer) {
    BOOST_TEST(fault_of<Greedy>(2) == "correct");
    CHECK_FAULT(Greedy, 3, "keeps more than a buffer holds");
}

}  // namespace
