// SPDX-License-Identifier: MIT
#include <lockstep/collectives/broadcast.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

static_assert(detail::is_rooted<Tree>(7) && detail::is_rooted<Naive>(7) && !detail::is_rooted<Ring>(3));

/// Calls `visit` with each topology that can be turned to any root.
template <class Visit>
void for_each_rooted(const Visit& visit) {
    visit.template operator()<Tree>();
    visit.template operator()<Naive>();
}

template <class Shape, class Scalar, class Link>
void expect_broadcast(Link& link, std::size_t length, int root) {
    test::Values<Scalar> values(length, 1);
    const auto from = [](int rank, std::size_t index) {
        return static_cast<Scalar>((static_cast<std::size_t>(rank) * 50 + index) % 256);
    };
    for (std::size_t index = 0; index < length; ++index) values.span()[index] = from(link.rank(), index);
    broadcast<Shape>(link, values.span(), root);
    const auto right = [&](std::size_t index) { return values.span()[index] == from(root, index); };
    test::expect_each(length, right, "root " + std::to_string(root));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(everyone_gets_what_any_root_has, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (int root = 0; root < world; ++root) {
                for (const std::size_t length : test::lengths) {
                    for_each_rooted([&]<class Shape>() {
                        expect_broadcast<Shape, float>(link, length, root);
                        expect_broadcast<Shape, double>(link, length, root);
                        expect_broadcast<Shape, std::int32_t>(link, length, root);
                        expect_broadcast<Shape, std::int64_t>(link, length, root);
                        expect_broadcast<Shape, std::uint8_t>(link, length, root);
                    });
                }
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bits_are_copied_not_values, Runner, test::Transports) {
    const std::vector<std::uint32_t> held{0x80000000, 0x7FC12345, 0xFFC00001, 0x7F812345, 0x00000001};
    for (const int world : test::worlds) {
        test::PerRank<std::vector<std::uint32_t>> got(world);
        test::check_all_well(Runner::run(world, [&](auto& link) {
            test::Values<float> values(held.size());
            if (link.rank() == world - 1)
                std::copy_n(std::as_bytes(std::span(held)).begin(), 20, std::as_writable_bytes(values.span()).begin());
            broadcast(link, values.span(), world - 1);
            got[link.rank()] = test::bits_of(values.span());
        }));
        BOOST_TEST(got.all_are(held));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_sum_of_all_comes_to_any_root, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (int root = 0; root < world; ++root) {
                for (const std::size_t length : test::lengths) {
                    for_each_rooted([&]<class Shape>() {
                        const auto check = [&]<class Operator>(Operator operation) {
                            test::Values<double> values(length, 1);
                            test::fill<Operator>(values.span(), link.rank(), world);
                            reduce_to<Shape>(link, values.span(), root, operation);
                            if (link.rank() != root) return;
                            const auto right = [&](std::size_t index) {
                                return values.span()[index] == test::reduced<Operator>(world, index);
                            };
                            test::expect_each(length, right, "root " + std::to_string(root));
                        };
                        check(Sum{});
                        check(Min{});
                        check(Max{});
                    });
                }
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(its_messages_are_those_of_half_a_tree, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::PerRank<Traffic> sent(world);
        test::check_all_well(Runner::run(world, [&](auto& link) {
            std::vector<float> values(100);
            broadcast(link, std::span(values), world / 2);
            sent[link.rank()] = link.traffic();
        }));
        Traffic total;
        for (const Traffic& each : sent) {
            total.messages += each.messages;
            total.bytes += each.bytes;
        }
        // Everybody but the root receives the buffer once.
        const auto others = static_cast<std::uint64_t>(world - 1);
        BOOST_TEST((total == Traffic{others, 400 * others}));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_root_outside_the_world_is_an_error_on_all_ranks, Runner, test::Transports) {
    for (const int world : test::worlds) {
        for (const int root : {-1, world, world + 1}) {
            const std::string message =
                "root " + std::to_string(root) + " is outside a world of size " + std::to_string(world);
            const auto broadcasts = Runner::run(world, [&](auto& link) {
                float value = 0;
                broadcast(link, std::span(&value, 1), root);
            });
            test::check_all_threw(broadcasts, message);
            const auto reductions = Runner::run(world, [&](auto& link) {
                float value = 0;
                reduce_to(link, std::span(&value, 1), root);
            });
            test::check_all_threw(reductions, message);
            for (const auto& outcome : broadcasts) BOOST_TEST((outcome.kind == ErrorKind::configuration));
            for (const auto& outcome : reductions) BOOST_TEST((outcome.kind == ErrorKind::configuration));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_bad_root_on_one_rank_ends_the_wait_of_the_others, Runner, test::Transports) {
    const auto outcomes = Runner::run(3, [&](auto& link) {
        barrier(link);
        std::vector<float> values(10);
        broadcast(link, std::span(values), link.rank() == 0 ? 3 : 0);
    });
    test::check_all_threw(outcomes, "root 3 is outside a world of size 3");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(lengths_that_differ_are_an_error_on_all_ranks, Runner, test::Transports) {
    for (const int world : {2, 3, 5}) {
        const auto outcomes = Runner::run(world, [&](auto& link) {
            barrier(link);
            std::vector<float> values(link.rank() == 1 ? 200 : 100);
            broadcast(link, std::span(values));
            barrier(link);  // A root that has sent all may be told of it only in the next call.
        });
        test::check_all_threw(outcomes, "broadcast #1 (200 float32, 800 bytes, tree)");
        test::check_all_threw(outcomes, "broadcast #1 (100 float32, 400 bytes, tree)");
        for (const auto& outcome : outcomes) BOOST_TEST((outcome.kind == ErrorKind::shape));
    }
}

BOOST_AUTO_TEST_CASE(alone_the_buffer_stays_as_it_is) {
    Solo link;
    std::vector<float> values{1, 2, 3};
    broadcast(link, std::span(values));
    reduce_to(link, std::span(values), 0);
    BOOST_TEST((values == std::vector<float>{1, 2, 3}));
    BOOST_CHECK_THROW(broadcast(link, std::span(values), 1), ConfigurationError);
}

}  // namespace
