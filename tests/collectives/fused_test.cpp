// SPDX-License-Identifier: MIT
#include <lockstep/collectives/fused.hpp>

#include <atomic>
#include <cstddef>
#include <latch>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/naive.hpp>

#include "support/conformance/reducer.hpp"
#include "support/messages.hpp"
#include "support/shared_memory.hpp"

namespace {

using namespace lockstep;
using SharedAddressSpaces = boost::mpl::list<test::OverThreads, test::OverSharedMemory>;

BOOST_AUTO_TEST_CASE_TEMPLATE(obeys_the_laws, Runner, SharedAddressSpaces) { test::check_reducer<Fused, Runner>(); }

/// Sizes beyond a board's slot take another way through the code than those below.
constexpr std::size_t around_the_slot[] = {tiny_bytes / 4, tiny_bytes / 4 + 1, 1024 / 4,           1024 / 4 + 1,
                                           slot_bytes / 4, slot_bytes / 4 + 1, slot_bytes / 2 + 7, 100'003};

template <class Link>
void expect_sums(Link& link, std::span<float> values) {
    test::fill<Sum>(values, link.rank(), link.world_size());
    all_reduce<Fused>(link, values);
    for (std::size_t index = 0; index < values.size(); ++index) {
        test::expect(values[index] == static_cast<float>(test::reduced<Sum>(link.world_size(), index)), "a sum");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lengths_around_the_slot, Runner, SharedAddressSpaces) {
    for (const int world : {2, 3, 4, 5, 6, 7, 8, 9, 12}) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            for (const std::size_t length : around_the_slot) {
                std::vector<float> own(length);
                expect_sums(link, own);
                SharedMemory::buffer<float> shared(length);
                expect_sums(link, std::span<float>(shared.data(), shared.size()));
                // Some ranks' buffers within everybody's reach, others not: still the sum.
                expect_sums(link, link.rank() == 0 ? std::span<float>(own) : std::span(shared.data(), shared.size()));
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(has_the_bits_of_rank_order_for_every_length, Runner, SharedAddressSpaces) {
    for (const int world : test::worlds) {
        for (const std::size_t length : {std::size_t{1}, std::size_t{1023}, std::size_t{20'001}}) {
            std::vector<float> expected(length);
            for (std::size_t index = 0; index < length; ++index) {
                expected[index] = test::rough(0, index);
                for (int rank = 1; rank < world; ++rank) expected[index] += test::rough(rank, index);
            }
            test::check_all_well(Runner::run(world, [&](auto& link) {
                const auto rough = [&](auto&& values) {
                    for (std::size_t index = 0; index < length; ++index) {
                        values.data()[index] = test::rough(link.rank(), index);
                    }
                    return std::span<float>(values.data(), length);
                };
                SharedMemory::buffer<float> shared(length);
                all_reduce<Fused>(link, rough(shared));
                test::expect(test::bits_of(std::span(shared.data(), length)) == test::bits_of(expected), "fused");
                std::vector<float> own(length);
                all_reduce<Direct>(link, rough(own));
                test::expect(test::bits_of(own) == test::bits_of(expected), "direct");
                all_reduce<Naive>(link, rough(own));
                test::expect(test::bits_of(own) == test::bits_of(expected), "naive");
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_action_that_throws_ends_the_call_on_all_ranks, Runner, SharedAddressSpaces) {
    for (const std::size_t length : around_the_slot) {
        const auto outcomes = Runner::run(3, [&](auto& link) {
            SharedMemory::buffer<float> values(length);
            all_reduce<Fused>(link, std::span(values.data(), length), Sum{}, [&](std::span<float>, std::size_t) {
                if (link.rank() == 2) throw std::runtime_error("bad piece");
            });
            barrier(link);
        });
        test::check_all_threw(outcomes, "bad piece");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_has_left_is_lost, Runner, SharedAddressSpaces) {
    for (const std::size_t length : around_the_slot) {
        const auto outcomes = Runner::run(3, [&](auto& link) {
            SharedMemory::buffer<float> values(length);
            all_reduce<Fused>(link, std::span(values.data(), length));
            if (link.rank() != 1) all_reduce<Fused>(link, std::span(values.data(), length));
        });
        BOOST_TEST(!outcomes[1].threw);
        for (const std::size_t rank : {0U, 2U}) {
            BOOST_TEST((outcomes[rank].is_error && outcomes[rank].kind == ErrorKind::peer_lost));
            BOOST_TEST(outcomes[rank].message.find("rank 1") != std::string::npos, outcomes[rank].message);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_does_not_come_is_a_timeout, Runner, SharedAddressSpaces) {
    for (const std::size_t length : around_the_slot) {
        std::atomic<int> ended{0};
        const auto outcomes = Runner::run(
            3,
            [&](auto& link) {
                if (link.rank() == 1) {
                    while (ended.load() < 2) std::this_thread::yield();
                    return;
                }
                SharedMemory::buffer<float> values(length);
                const auto outcome =
                    test::outcome_of([&] { all_reduce<Fused>(link, std::span(values.data(), length)); });
                ++ended;
                if (outcome.threw) raise({outcome.kind, outcome.rank, outcome.message});
            },
            Seconds{0.2});
        for (const std::size_t rank : {0U, 2U}) {
            BOOST_TEST((outcomes[rank].is_error && outcomes[rank].kind == ErrorKind::timeout));
            BOOST_TEST(outcomes[rank].message.find("for rank 1 in all_reduce") != std::string::npos,
                       outcomes[rank].message);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_second_thread_in_one_ranks_call_is_told, Runner, SharedAddressSpaces) {
    std::latch told(1);
    test::Outcome second;
    const auto outcomes = Runner::run(2, [&](auto& link) {
        std::vector<float> values(1000);
        if (link.rank() == 1) {
            told.wait();
            return expect_sums(link, std::span(values));
        }
        std::thread intruder([&] {
            // The first is in its call, and stays there until rank 1 comes.
            while (!link.board(0).in_use.load()) std::this_thread::yield();
            std::vector<float> others(1000);
            second = test::outcome_of([&] { all_reduce<Fused>(link, std::span(others)); });
            told.count_down();
        });
        const auto first = test::outcome_of([&] { expect_sums(link, std::span(values)); });
        intruder.join();
        test::expect(!first.threw, first.message);
    });
    test::check_all_well(outcomes);
    test::check_error(second, ErrorKind::transport, {"two threads use the transport of rank 0 at once"});
}

}  // namespace
