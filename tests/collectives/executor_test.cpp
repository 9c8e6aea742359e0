// SPDX-License-Identifier: MIT
#include <lockstep/collectives/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/all_gather.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/topology/verify.hpp>

#include "support/conformance/reducer.hpp"
#include "support/count_allocations.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// Partners swap all they have: what is sent and what is received are the same chunks. For powers of two.
struct Swaps {
    static constexpr const char* name = "swaps";
    static constexpr int chunks(int) { return 2; }
    static constexpr bool owns(int, int, int) { return true; }
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        for (int bit = 1; bit < world; bit *= 2) {
            emit(Step{.send = {rank ^ bit, 0, 2}, .receive = {rank ^ bit, 0, 2}, .fold = Fold::add});
        }
    }
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};

/// Down the line, each rank passes on chunks 0 and 1 while 1 and 2 arrive: what is sent and received overlaps in part.
struct Staggered {
    static constexpr const char* name = "staggered";
    static constexpr int chunks(int) { return 3; }
    static constexpr bool owns(int rank, int, int) { return rank == 0; }
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        if (rank != 0) return emit(Step{.send = {0, 0, 3}});
        for (int peer = 1; peer < world; ++peer) emit(Step{.receive = {peer, 0, 3}, .fold = Fold::add});
    }
    template <class Emit>
    static constexpr void distribute(int rank, int world, Emit&& emit) {
        if (rank == 0 && world > 1) {
            emit(Step{.send = {1, 0, 2}});
            emit(Step{.send = {1, 1, 2}});
        } else if (rank > 0) {
            emit(Step{.receive = {rank - 1, 0, 2}});
            if (rank == world - 1) return emit(Step{.receive = {rank - 1, 1, 2}});
            emit(Step{.send = {rank + 1, 0, 2}, .receive = {rank - 1, 1, 2}});
            emit(Step{.send = {rank + 1, 1, 2}});
        }
    }
};

/// Two rings one after the other, each over half of the chunks: rank r owns chunks r and W + r.
struct TwoRings {
    static constexpr const char* name = "two rings";
    static constexpr int chunks(int world) { return 2 * world; }
    static constexpr bool owns(int rank, int world, int chunk) { return chunk % world == rank; }
    template <class Emit>
    static constexpr void reduce(int rank, int world, Emit&& emit) {
        for (const int first : {0, world}) Ring::reduce(rank, world, [&](Step step) { emit(moved(step, first)); });
    }
    template <class Emit>
    static constexpr void distribute(int rank, int world, Emit&& emit) {
        for (const int first : {0, world}) Ring::distribute(rank, world, [&](Step step) { emit(moved(step, first)); });
    }
    static constexpr Step moved(Step step, int first) {
        step.send.first_chunk += first;
        step.receive.first_chunk += first;
        return step;
    }
};

static_assert(verify<Swaps>(1) && verify<Swaps>(2) && verify<Swaps>(4));
static_assert(verified_to<Staggered>(5) && verified_to<TwoRings>(5));

BOOST_AUTO_TEST_CASE_TEMPLATE(traffic_is_what_the_schedule_counts, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (const auto& topology : test::every_topology<test::LinkOf<decltype(link)>>()) {
                for (const std::size_t length : test::lengths) {
                    std::vector<double> values(length);
                    const Traffic before = link.traffic();
                    topology.all_reduce(link, std::span(values));
                    const Traffic after = link.traffic();
                    const Counts counts = topology.shape.counts(link.rank(), world, length);
                    test::expect(after.messages - before.messages == counts.messages_sent, topology.name);
                    test::expect(after.bytes - before.bytes == 8 * counts.elements_sent, topology.name);
                }
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE(calls_after_the_first_allocate_nothing) {
    for (const int world : test::worlds) {
        test::PerRank<std::size_t> counts(world);
        test::check_all_well(test::OverThreads::run(world, [&](auto& link) {
            const auto count = [&]<class Shape>() {
                Executor<Shape> executor;
                std::vector<float> values(1023, 1.0F);
                executor.all_reduce(link, std::span(values));
                const std::size_t before = test::allocations;
                for (const std::size_t length : test::lengths) {
                    executor.all_reduce(link, std::span(values).first(length));
                    executor.all_reduce(link, std::span(values).first(length), Max{},
                                        [](std::span<float> piece, std::size_t) {
                                            for (float& value : piece) value = 1;
                                        });
                    executor.reduce(link, std::span(values).first(length));
                    executor.distribute(link, std::span(values).first(length));
                }
                counts[link.rank()] += test::allocations - before;
            };
            count.template operator()<Tree>();
            count.template operator()<Ring>();
            count.template operator()<Direct>();
            count.template operator()<Circulant>();
            count.template operator()<Staggered>();
            if (world != 3 && world != 5) count.template operator()<Swaps>();
        }));
        BOOST_TEST(counts.all_are(0U), "world " << world);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(chunks_that_are_sent_and_received_at_once_are_sent_as_they_were, Runner,
                              test::Transports) {
    // Longer than any socket buffer: bytes arrive while others are still to be sent.
    constexpr std::size_t length = 300'000;
    for (const int world : {2, 4, 8}) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Executor<Swaps> executor;
            for (int repeat = 0; repeat < 2; ++repeat) {
                std::vector<float> values(length);
                for (std::size_t index = 0; index < length; ++index) {
                    values[index] = static_cast<float>(link.rank() + 1) + static_cast<float>(index % 100);
                }
                executor.all_reduce(link, std::span(values));
                const auto right = [&](std::size_t index) {
                    const int expected = world * (world + 1) / 2 + world * static_cast<int>(index % 100);
                    return values[index] == static_cast<float>(expected);
                };
                test::expect_each(length, right, "sums");
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(chunks_that_overlap_in_part_are_sent_as_they_were, Runner, test::Transports) {
    for (const int world : test::worlds) {
        for (const std::size_t length : {std::size_t{0}, std::size_t{2}, std::size_t{10}, std::size_t{100'000}}) {
            test::check_all_well(Runner::run(world, [&, length](auto& link) {
                std::vector<std::int64_t> values(length);
                for (std::size_t index = 0; index < length; ++index) {
                    values[index] = static_cast<std::int64_t>(index) * (link.rank() + 1);
                }
                Executor<Staggered>().all_reduce(link, std::span(values));
                const auto right = [&](std::size_t index) {
                    return values[index] == static_cast<std::int64_t>(index) * world * (world + 1) / 2;
                };
                test::expect_each(length, right, "sums");
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_two_halves_are_an_all_reduce_bit_for_bit, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            const auto check = [&](const auto& topology) {
                std::vector<float> whole(1023);
                for (std::size_t index = 0; index < 1023; ++index) whole[index] = test::rough(link.rank(), index);
                std::vector<float> halves = whole;
                topology.all_reduce(link, std::span(whole));
                topology.first_half(link, std::span(halves));
                topology.second_half(link, std::span(halves));
                test::expect(test::bits_of(whole) == test::bits_of(halves), topology.name);
            };
            using Link = test::LinkOf<decltype(link)>;
            for (const auto& topology : test::every_topology<Link>()) check(topology);
            check(test::AnyReducer<Link>::template of<TwoRings>());
        }));
    }
}

/// Segments of two lengths, more than one of each.
template <class Shape>
std::size_t long_length(int world) {
    return 3 * longest_chunk * static_cast<std::size_t>(Shape::chunks(world)) + 2;
}

template <class Shape, class Link>
void expect_segments(Link& link) {
    const int world = link.world_size();
    const std::size_t length = long_length<Shape>(world);
    test::expect(segments_of<Shape>(world, length) == 4, "number of segments");
    std::vector<float> whole(length);
    test::fill<Sum>(std::span(whole), link.rank(), world);
    std::vector<float> halves = whole;
    std::size_t acted = 0;
    const auto act = [&](std::span<float> piece, std::size_t first) {
        acted += piece.size();
        for (std::size_t index = 0; index < piece.size(); ++index)
            piece[index] += static_cast<float>((first + index) % 5);
    };
    Executor<Shape> executor;
    const Traffic before = link.traffic();
    executor.all_reduce(link, std::span(whole), Sum{}, act);
    const Traffic after = link.traffic();
    const auto right = [&](std::size_t index) {
        return whole[index] == static_cast<float>(test::reduced<Sum>(world, index)) + static_cast<float>(index % 5);
    };
    test::expect_each(length, right, Shape::name);
    const Counts counts = counts_of<Shape>(link.rank(), world, length);
    test::expect(after.messages - before.messages == counts.messages_sent, "messages");
    test::expect(after.bytes - before.bytes == 4 * counts.elements_sent, "bytes");
    executor.reduce(link, std::span(halves), Sum{}, act);
    executor.distribute(link, std::span(halves));
    test::expect(halves == whole, "the halves make something else");
    const std::vector<std::int64_t> all = gather(link, static_cast<std::int64_t>(acted));
    test::expect(std::accumulate(all.begin(), all.end(), std::int64_t{0}) == static_cast<std::int64_t>(2 * length),
                 "not every element has been acted on twice");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(long_buffers_are_reduced_in_segments, Runner, test::Transports) {
    for (const int world : {1, 2, 3}) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            expect_segments<Ring>(link);
            expect_segments<Tree>(link);
        }));
    }
}

/// The pieces that each rank's action sees in a buffer of `length` elements.
template <class Shape>
auto pieces_of(int world, std::size_t length) {
    test::PerRank<std::vector<Shard>> pieces(world);
    test::check_all_well(test::OverThreads::run(world, [&](auto& link) {
        std::vector<float> values(length);
        Executor<Shape>().reduce(link, std::span(values), Sum{}, [&](std::span<float> piece, std::size_t first) {
            pieces[link.rank()].push_back({first, piece.size()});
        });
    }));
    return pieces;
}

BOOST_AUTO_TEST_CASE(an_action_sees_each_piece_of_its_rank_once) {
    auto one = pieces_of<Staggered>(3, 10);
    BOOST_TEST((one[0] == std::vector<Shard>{{0, 10}} && one[1].empty() && one[2].empty()), "neighbours are one piece");
    auto two = pieces_of<TwoRings>(2, 10);
    BOOST_TEST((two[0] == std::vector<Shard>{{0, 3}, {6, 2}}));
    BOOST_TEST((two[1] == std::vector<Shard>{{3, 3}, {8, 2}}));
    auto few = pieces_of<TwoRings>(2, 3);
    BOOST_TEST((few[0] == std::vector<Shard>{{0, 1}, {2, 1}}));
    BOOST_TEST((few[1] == std::vector<Shard>{{1, 1}}), "nobody acts on nothing");
    BOOST_TEST(pieces_of<Ring>(2, 0).all_are({}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_executor_serves_transports_of_any_size, Runner, test::Transports) {
    std::vector<Executor<Ring>> executors(4);
    for (const int world : {4, 2, 3, 1, 4}) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            std::vector<int> values(17, link.rank() + 1);
            executors[static_cast<std::size_t>(link.rank())].all_reduce(link, std::span(values));
            test::expect(values == std::vector<int>(17, world * (world + 1) / 2), "world " + std::to_string(world));
        }));
    }
}

}  // namespace
