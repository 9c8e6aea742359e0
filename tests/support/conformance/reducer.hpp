// SPDX-License-Identifier: MIT
/// @file
/// The laws of a Reducer. Those of the library are in the list of support/reducers/; the test of another one calls
/// check_reducer for each transport.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/barrier.hpp>

#include "support/any_reducer.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace test {

/// None, fewer than any world, one that no world divides, and enough for every loop of the kernels.
inline constexpr std::array<std::size_t, 9> lengths{0, 1, 2, 3, 4, 5, 7, 64, 1023};

/// What `rank` brings as element `index`: whole numbers of either sign, so small that any order of addition is exact.
/// For Min and Max each rank has the extreme elements in other places.
template <class Operator>
constexpr int contribution(int rank, int world, std::size_t index) {
    const int place = static_cast<int>(index) - 500;
    if constexpr (std::same_as<Operator, lockstep::Sum>) return (rank + 1) * place;
    else return 10 * place + (rank + static_cast<int>(index)) % world;
}

/// The reduction of all ranks' contributions, in closed form.
template <class Operator>
constexpr int reduced(int world, std::size_t index) {
    const int place = static_cast<int>(index) - 500;
    if constexpr (std::same_as<Operator, lockstep::Sum>) return world * (world + 1) / 2 * place;
    else if constexpr (std::same_as<Operator, lockstep::Min>) return 10 * place;
    else return 10 * place + world - 1;
}

template <class Operator, class Scalar>
void fill(std::span<Scalar> values, int rank, int world) {
    for (std::size_t index = 0; index < values.size(); ++index) {
        values[index] = static_cast<Scalar>(contribution<Operator>(rank, world, index));
    }
}

/// On a rank: one all_reduce of every operator and type at this length.
template <class Operator, class Scalar, class Link>
void expect_reduction(const AnyReducer<Link>& reducer, Link& link, std::size_t length, std::size_t past) {
    Values<Scalar> values(length, past);
    fill<Operator>(values.span(), link.rank(), link.world_size());
    reducer.all_reduce(link, values.span(), Operator{});
    const auto right = [&, held = values.span()](std::size_t index) {
        return held[index] == static_cast<Scalar>(reduced<Operator>(link.world_size(), index));
    };
    expect_each(length, right, lockstep::name_of(lockstep::element_type_of<Scalar>));
}
template <class Operator, class Link>
void expect_reductions(const AnyReducer<Link>& reducer, Link& link, std::size_t length, std::size_t past) {
    expect_reduction<Operator, float>(reducer, link, length, past);
    expect_reduction<Operator, double>(reducer, link, length, past);
    expect_reduction<Operator, std::int32_t>(reducer, link, length, past);
    expect_reduction<Operator, std::int64_t>(reducer, link, length, past);
}

template <class Runner>
using ReducerOver = AnyReducer<typename Runner::link_type>;

template <class Runner>
void check_reductions(const ReducerOver<Runner>& reducer, int world) {
    check_all_well(Runner::run(world, [&](auto& link) {
        for (const std::size_t length : lengths) {
            for (const std::size_t past : {std::size_t{0}, std::size_t{1}}) {
                expect_reductions<lockstep::Sum>(reducer, link, length, past);
                expect_reductions<lockstep::Min>(reducer, link, length, past);
                expect_reductions<lockstep::Max>(reducer, link, length, past);
            }
        }
    }));
}

/// A float whose sums are rounded, so that every order of addition has bits of its own.
inline float rough(int rank, std::size_t index) {
    const float value = 1.0F / static_cast<float>(3 + 7 * static_cast<int>(index) + rank);
    return (index + static_cast<std::size_t>(rank)) % 3 == 0 ? -1000 * value : value;
}

/// Rounded sums have the same bits on all ranks and in every repeat, and lie where sums in double say.
template <class Runner>
void check_bits(const ReducerOver<Runner>& reducer, int world) {
    constexpr std::size_t length = 1023;
    PerRank<std::vector<std::uint32_t>> bits(world);
    check_all_well(Runner::run(world, [&](auto& link) {
        for (int repeat = 0; repeat < 5; ++repeat) {
            std::vector<float> values(length);
            for (std::size_t index = 0; index < length; ++index) values[index] = rough(link.rank(), index);
            reducer.all_reduce(link, std::span(values));
            auto& first = bits[link.rank()];
            if (repeat == 0) first = bits_of(values);
            else expect(bits_of(values) == first, "repeat " + std::to_string(repeat) + " has other bits");
        }
    }));
    BOOST_TEST(bits.all_are(bits[0]), "ranks hold different bits");
    BOOST_REQUIRE(bits[0].size() == length);
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < length; ++index) {
        double sum = 0;
        double magnitude = 0;
        for (int rank = 0; rank < world; ++rank) {
            sum += static_cast<double>(rough(rank, index));
            magnitude += std::abs(static_cast<double>(rough(rank, index)));
        }
        const double error = std::abs(static_cast<double>(std::bit_cast<float>(bits[0][index])) - sum);
        // Each of W - 1 additions rounds by at most half a unit of what has been added so far.
        if (!(error <= (world - 1) * 0.5 * double{std::numeric_limits<float>::epsilon()} * magnitude)) ++wrong;
    }
    BOOST_TEST(wrong == 0U);
}

/// Owners act on finished sums, on all of them, and every rank ends with what they made of them.
template <class Runner>
void check_owners_act(const ReducerOver<Runner>& reducer, int world) {
    for (const std::size_t length : lengths) {
        PerRank<std::vector<lockstep::Shard>> pieces(world);
        check_all_well(Runner::run(world, [&](auto& link) {
            Values<double> values(length, 1);
            fill<lockstep::Sum>(values.span(), link.rank(), world);
            const auto owner_acts = [&](std::span<double> piece, std::size_t first) {
                pieces[link.rank()].push_back({first, piece.size()});
                const auto finished = [&](std::size_t index) {
                    return piece[index] == reduced<lockstep::Sum>(world, first + index);
                };
                expect_each(piece.size(), finished, "when the owner acts");
                for (double& value : piece) value = value / 2 + 1;
            };
            reducer.all_reduce(link, values.span(), lockstep::Sum{}, owner_acts);
            const auto acted = [held = values.span(), world](std::size_t index) {
                return held[index] == reduced<lockstep::Sum>(world, index) / 2.0 + 1;
            };
            expect_each(length, acted, "after the owner has acted");
        }));
        std::vector<bool> covered(length);
        for (const auto& own : pieces) {
            for (const lockstep::Shard& piece : own) {
                BOOST_REQUIRE(piece.end() <= length);
                std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(piece.begin), piece.size, true);
            }
        }
        BOOST_TEST(std::count(covered.begin(), covered.end(), false) == 0);
    }
}

/// Alone, a rank gets back what it brought: signs of zeros, payloads of NaNs and denormals too.
template <class Runner>
void check_alone(const ReducerOver<Runner>& reducer) {
    const std::vector<std::uint32_t> brought{0x80000000, 0x7FC12345, 0xFFC00001, 0x7F812345, 0x00000001, 0x3F800000};
    PerRank<std::vector<std::uint32_t>> kept(1);
    check_all_well(Runner::run(1, [&](auto& link) {
        Values<float> values(brought.size());
        std::memcpy(values.span().data(), brought.data(), values.span().size_bytes());
        reducer.all_reduce(link, values.span());
        kept[0] = bits_of(values.span());
    }));
    BOOST_TEST((kept[0] == brought));
}

/// Rank 0 brings another length than the others: a ShapeError with both on every rank.
template <class Runner>
void check_lengths_must_agree(const ReducerOver<Runner>& reducer, int world, std::size_t first, std::size_t others) {
    const auto outcomes = Runner::run(world, [&](auto& link) {
        lockstep::barrier(link);  // All have met: what fails is the call.
        std::vector<float> values(link.rank() == 0 ? first : others);
        reducer.all_reduce(link, std::span(values));
    });
    check_all_threw(outcomes, std::to_string(first) + " float32");
    check_all_threw(outcomes, std::to_string(others) + " float32");
    for (const Outcome& outcome : outcomes)
        BOOST_TEST((outcome.is_error && outcome.kind == lockstep::ErrorKind::shape));
}

/// All of it, in these worlds.
template <class Runner, class Worlds = decltype(worlds)>
void check_reducer(const ReducerOver<Runner>& reducer, const Worlds& world_sizes = worlds) {
    check_alone<Runner>(reducer);
    for (const int world : world_sizes) {
        BOOST_TEST_CONTEXT("world " << world << " over " << Runner::name) {
            check_reductions<Runner>(reducer, world);
            check_bits<Runner>(reducer, world);
            check_owners_act<Runner>(reducer, world);
            if (world < 2) continue;
            check_lengths_must_agree<Runner>(reducer, world, 100, 200);
            check_lengths_must_agree<Runner>(reducer, world, 100, 99);
            check_lengths_must_agree<Runner>(reducer, world, 0, 1);
        }
    }
}

template <class Strategy, class Runner, class Worlds = decltype(worlds)>
void check_reducer(const Worlds& world_sizes = worlds) {
    check_reducer<Runner>(ReducerOver<Runner>::template of<Strategy>(), world_sizes);
}

}  // namespace test
