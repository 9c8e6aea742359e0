// SPDX-License-Identifier: MIT
/// @file
/// What the owner of a finished piece may do to it before everyone receives it.
///
/// An owner's action is any `action(piece, first_element)`. One that treats every element alike may also have
/// `apply_to(value)`, for numbers and vectors of them: reducers can then apply it while the sum is still in a register.
/// (By reference: to return a vector that is wider than the caller's registers would change the calling convention.)
#pragma once

#include <cstddef>
#include <span>

#include <lockstep/kernels/elementwise.hpp>

namespace lockstep {

template <class Action, class Scalar>
concept ElementwiseAction = requires(const Action action, Scalar& value) {
    action.apply_to(value);
};

/// Does nothing: the sum is the result.
struct KeepSum {
    template <class Scalar>
    constexpr void operator()(std::span<Scalar>, std::size_t) const noexcept {}

    template <class Value>
    [[gnu::always_inline]] constexpr void apply_to(Value&) const noexcept {}
};

/// Makes the sum an average over this total weight.
template <class Scalar>
struct DivideBy {
    Scalar weight;

    void operator()(std::span<Scalar> piece, std::size_t) const noexcept {
        kernels::detail::for_lanes<Scalar>(piece.size(), [&](auto lanes) {
            auto values = lanes.load(piece.data());
            apply_to(values);
            lanes.store(piece.data(), values);
        });
    }

    template <class Value>
    [[gnu::always_inline]] constexpr void apply_to(Value& value) const noexcept {
        value /= weight;
    }
};

}  // namespace lockstep
