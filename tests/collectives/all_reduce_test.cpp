// SPDX-License-Identifier: MIT
#include <lockstep/collectives/all_reduce.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/concepts.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// A reducer that is no topology: everyone sends everything to everyone and adds in rank order.
class Everyone {
public:
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        const Request request{Operation::all_reduce,   Operator::kind,
                              element_type_of<Scalar>, 0,
                              short_name("everyone"),  std::uint64_t{buffer.size()}};
        const Call call = link.begin(request);
        const int world = link.world_size();
        std::vector<std::vector<Scalar>> all(static_cast<std::size_t>(world),
                                             std::vector<Scalar>(buffer.begin(), buffer.end()));
        for (int step = 1; step < world; ++step) {
            const int right = (link.rank() + step) % world;
            const int left = (link.rank() + world - step) % world;
            link.exchange(call, Outgoing{right, std::as_bytes(buffer)},
                          Incoming{left, std::as_writable_bytes(std::span(all[static_cast<std::size_t>(left)]))});
        }
        std::copy(all[0].begin(), all[0].end(), buffer.begin());
        for (std::size_t rank = 1; rank < all.size(); ++rank) {
            for (std::size_t index = 0; index < buffer.size(); ++index) {
                buffer[index] = Operator::apply(buffer[index], all[rank][index]);
            }
        }
        if (!buffer.empty()) owner_acts(buffer, 0);
    }
};

/// Everybody owns everything; for powers of two.
struct Swaps {
    static constexpr const char* name = "swaps";
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

static_assert(Reducer<Everyone, Threads> && !Topology<Everyone> && Topology<Swaps>);

BOOST_AUTO_TEST_CASE_TEMPLATE(every_reducer_obeys_the_laws, Runner, test::Transports) {
    test::for_each_reducer<Runner>([](const auto& reducer) {
        // The system's TCP and Unix domain sockets are driven by the same code: one of them goes through all worlds.
        constexpr bool in_full = !std::is_same_v<Runner, test::OverTcp>;
        BOOST_TEST_CONTEXT(reducer.name) {
            if (in_full) test::check_reducer<Runner>(reducer);
            else test::check_reducer<Runner>(reducer, std::array{2, 3});
        }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_reducer_of_ones_own_obeys_the_laws, Runner, test::Transports) {
    test::check_reducer<Everyone, Runner>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_topology_with_several_owners_obeys_the_laws, Runner, test::Transports) {
    test::check_reducer<Swaps, Runner>(std::array{1, 2, 4, 8});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_first_half_finishes_the_owners_pieces, Runner, test::Transports) {
    for (const int world : test::worlds) {
        constexpr std::size_t length = 101;
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (const auto& topology : test::every_topology<test::LinkOf<decltype(link)>>()) {
                test::Values<float> values(length);
                test::fill<Max>(values.span(), link.rank(), world);
                topology.first_half(link, values.span(), Max{});
                const int chunks = topology.shape.chunks(world);
                for (int chunk = 0; chunk < chunks; ++chunk) {
                    if (!topology.shape.owns(link.rank(), world, chunk)) continue;
                    const Shard piece = shard_of(length, chunk, chunks);
                    const auto finished = [&](std::size_t index) {
                        const int expected = test::reduced<Max>(world, piece.begin + index);
                        return values.span()[piece.begin + index] == static_cast<float>(expected);
                    };
                    test::expect_each(piece.size, finished, topology.name);
                }
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_second_half_hands_out_the_owners_pieces, Runner, test::Transports) {
    for (const int world : test::worlds) {
        constexpr std::size_t length = 101;
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (const auto& topology : test::every_topology<test::LinkOf<decltype(link)>>()) {
                // Owned pieces hold their place, all others a number that must not survive.
                std::vector<float> values(length, -1);
                const int chunks = topology.shape.chunks(world);
                for (int chunk = 0; chunk < chunks; ++chunk) {
                    if (!topology.shape.owns(link.rank(), world, chunk)) continue;
                    const Shard piece = shard_of(length, chunk, chunks);
                    for (std::size_t index = piece.begin; index < piece.end(); ++index) {
                        values[index] = static_cast<float>(index);
                    }
                }
                topology.second_half(link, std::span(values));
                const auto right = [&](std::size_t index) { return values[index] == static_cast<float>(index); };
                test::expect_each(length, right, topology.name);
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE(a_world_of_one_needs_no_network) {
    Solo link;
    test::for_each_reducer(link, [&](const auto& reducer) {
        std::vector<float> values{1, -2, 3};
        reducer.all_reduce(link, std::span(values), Sum{}, [](std::span<float> piece, std::size_t first) {
            for (std::size_t index = 0; index < piece.size(); ++index) {
                piece[index] += static_cast<float>(10 * (first + index));
            }
        });
        BOOST_TEST((values == std::vector<float>{1, 8, 23}));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bytes_wrap_around, Runner, test::Transports) {
    test::check_all_well(Runner::run(3, [](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            std::vector<std::uint8_t> values{100, 1, 255};
            reducer.all_reduce(link, std::span(values));
            test::expect(values == std::vector<std::uint8_t>{44, 3, 253}, reducer.name);
        });
    }));
}

}  // namespace
