// SPDX-License-Identifier: MIT
/// @file
/// What the owner of a finished piece may do to it before everyone receives it.
///
/// An owner's action is any `action(piece, first_element)`. One that treats every element alike may also have
/// `apply_to(value)`, for numbers and vectors of them: reducers can then apply it while the sum is still in a register.
/// (By reference: to return a vector that is wider than the caller's registers would change the calling convention.)
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include <lockstep/core/config.hpp>

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

    /// Sixteen bytes at a time: -O2 alone does not vectorise a loop of unknown length.
    void operator()(std::span<Scalar> piece, std::size_t) const noexcept {
        using Lanes [[gnu::vector_size(16)]] = Scalar;
        constexpr std::size_t width = 16 / sizeof(Scalar);
        const std::size_t whole = piece.size() - piece.size() % width;
        for (std::size_t at = 0; at < whole; at += width) {
            Lanes values;
            std::memcpy(&values, piece.data() + at, sizeof values);
            apply_to(values);
            std::memcpy(piece.data() + at, &values, sizeof values);
        }
        for (Scalar& value : piece.subspan(whole)) apply_to(value);
    }

    template <class Value>
    [[gnu::always_inline]] constexpr void apply_to(Value& value) const noexcept {
        value /= weight;
    }
};

}  // namespace lockstep
