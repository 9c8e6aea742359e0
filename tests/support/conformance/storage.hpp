// SPDX-License-Identifier: MIT
/// @file
/// The laws of a storage policy: a new one's test calls check_storage.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/core/concepts.hpp>
#include <lockstep/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

namespace test {

template <class Policy, class Value>
using BufferOf = typename Policy::template buffer<Value>;

/// Owning policies construct from a count, views from a span.
template <class Policy, class Value>
inline constexpr bool owns = std::constructible_from<BufferOf<Policy, Value>, std::size_t>;

/// A buffer of `count` zeros; views view `backing`.
template <class Policy, class Value>
BufferOf<Policy, Value> make_buffer(std::vector<Value>& backing, std::size_t count) {
    if constexpr (owns<Policy, Value>) {
        return BufferOf<Policy, Value>(count);
    } else {
        backing.assign(count, Value{});
        return BufferOf<Policy, Value>(std::span<Value>(backing));
    }
}

/// Is every value equal to `value`?
template <class Buffer, class Value>
bool all_are(const Buffer& buffer, Value value) {
    return std::all_of(buffer.data(), buffer.data() + buffer.size(), [value](Value held) { return held == value; });
}

template <class Policy, class Value>
void check_buffer(std::size_t count) {
    static_assert(lockstep::Storage<Policy, Value>);
    std::vector<Value> backing;
    std::vector<Value> other_backing;
    auto buffer = make_buffer<Policy, Value>(backing, count);
    BOOST_TEST(buffer.size() == count);
    BOOST_TEST(all_are(buffer, Value{0}));
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(buffer.data()) % Policy::alignment == 0U);
    std::fill_n(buffer.data(), count, Value{7});

    // A copy has the same values: its own where the policy owns, the very same where it views.
    auto copy = buffer;
    BOOST_TEST(copy.size() == count);
    BOOST_TEST(all_are(copy, Value{7}));
    std::fill_n(copy.data(), count, Value{8});
    const Value expected = owns<Policy, Value> ? 7 : 8;
    BOOST_TEST(all_are(buffer, expected));

    // Assignment replaces values and size, also by what the target was itself.
    auto assigned = make_buffer<Policy, Value>(other_backing, count / 2);
    assigned = buffer;
    BOOST_TEST(assigned.size() == count);
    BOOST_TEST(all_are(assigned, expected));
    std::fill_n(assigned.data(), count, Value{9});
    BOOST_TEST(all_are(buffer, owns<Policy, Value> ? Value{7} : Value{9}));
    auto& itself = assigned;
    assigned = itself;
    BOOST_TEST(assigned.size() == count);
    BOOST_TEST(all_are(assigned, Value{9}));
    assigned = std::move(itself);
    BOOST_TEST(assigned.size() == count);
    BOOST_TEST(all_are(assigned, Value{9}));

    // A move keeps the values; what was moved from can be used again.
    auto moved = std::move(assigned);
    BOOST_TEST(moved.size() == count);
    BOOST_TEST(all_are(moved, Value{9}));
    assigned = moved;
    BOOST_TEST(all_are(assigned, Value{9}));
    BOOST_TEST(assigned.size() == count);
    BufferOf<Policy, Value> target;
    BOOST_TEST(target.size() == 0U);
    target = std::move(moved);
    BOOST_TEST(target.size() == count);
    BOOST_TEST(all_are(target, Value{9}));
}

/// Elements that no buffer can have are an error, not a crash and not a small buffer.
template <class Policy>
void check_too_large() {
    using Floats = BufferOf<Policy, float>;
    using Doubles = BufferOf<Policy, double>;
    constexpr auto huge = static_cast<std::size_t>(-1);
    BOOST_CHECK_THROW(Floats{huge / 2}, lockstep::ShapeError);
    BOOST_CHECK_THROW(Floats{huge}, lockstep::ShapeError);
    // These byte counts would wrap around to 0 and 8.
    BOOST_CHECK_THROW(Doubles{huge / 8 + 1}, lockstep::ShapeError);
    BOOST_CHECK_THROW(Doubles{huge / 8 + 2}, lockstep::ShapeError);
}

/// A tensor over the policy, from shape to values and back.
template <class Policy, class Value>
void check_tensor_over() {
    std::vector<Value> backing;
    lockstep::Tensor<Value, Policy> tensor({2, 3}, make_buffer<Policy, Value>(backing, 6));
    for (int row = 0; row < 2; ++row) {
        for (int col = 0; col < 3; ++col) tensor(row, col) = static_cast<Value>(10 * row + col);
    }
    const std::vector<Value> expected{0, 1, 2, 10, 11, 12};
    BOOST_TEST(std::equal(expected.begin(), expected.end(), tensor.values().begin(), tensor.values().end()));
    BOOST_CHECK_THROW((lockstep::Tensor<Value, Policy>({2, 2}, make_buffer<Policy, Value>(backing, 6))),
                      lockstep::ShapeError);
}

/// All of it, for buffers of up to `largest` values.
template <class Policy>
void check_storage(std::size_t largest) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{7}, largest}) {
        check_buffer<Policy, float>(count);
        check_buffer<Policy, double>(count);
        check_buffer<Policy, std::int32_t>(count);
        check_buffer<Policy, std::uint8_t>(count);
    }
    check_tensor_over<Policy, float>();
    check_tensor_over<Policy, double>();
    if constexpr (owns<Policy, float>) check_too_large<Policy>();
}

}  // namespace test
