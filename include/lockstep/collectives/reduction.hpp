// SPDX-License-Identifier: MIT
/// @file
/// Sum, Min and Max: what is done with two elements, and the loops that do it to whole pieces.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>

#include <lockstep/core/call.hpp>
#include <lockstep/core/isa.hpp>

namespace lockstep {

/// Elementwise sum. NaN and infinities spread as IEEE 754 says; integers wrap.
struct Sum {
    static constexpr Reduction kind = Reduction::sum;

    template <class Value>
    static constexpr Value apply(Value left, Value right) noexcept {
        if constexpr (std::signed_integral<Value>) {
            // Unsigned arithmetic: overflow of the sum wraps instead of being undefined.
            return static_cast<Value>(static_cast<std::make_unsigned_t<Value>>(left) +
                                      static_cast<std::make_unsigned_t<Value>>(right));
        } else {
            return static_cast<Value>(left + right);
        }
    }
};

/// Elementwise minimum. A NaN on any rank gives NaN on all; -0 is less than +0. Independent of order.
struct Min {
    static constexpr Reduction kind = Reduction::min;

    template <class Value>
    static constexpr Value apply(Value left, Value right) noexcept {
        if constexpr (std::floating_point<Value>) {
            if (left != left) return left;
            if (left == right) return __builtin_signbit(left) ? left : right;
        }
        return left < right ? left : right;
    }
};

/// Elementwise maximum. A NaN on any rank gives NaN on all; +0 is greater than -0. Independent of order.
struct Max {
    static constexpr Reduction kind = Reduction::max;

    template <class Value>
    static constexpr Value apply(Value left, Value right) noexcept {
        if constexpr (std::floating_point<Value>) {
            if (left != left) return left;
            if (left == right) return __builtin_signbit(left) ? right : left;
        }
        return left > right ? left : right;
    }
};

namespace detail {

template <class Operator, class Value>
void combine_plain(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
    auto* const target = reinterpret_cast<Value*>(into);
    const auto* const source = reinterpret_cast<const Value*>(from);
    for (std::size_t index = 0; index < bytes / sizeof(Value); ++index) {
        target[index] = Operator::apply(target[index], source[index]);
    }
}

// One loop, compiled for each instruction set: -O2 alone leaves it scalar on some compilers. Floating-point sums are
// elementwise, so the width changes no bit. Four vectors a turn keep two loads and a store a cycle under way.
template <class Value, int Width>
[[gnu::always_inline]] inline void add_vectors(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
    using Vector [[gnu::vector_size(Width), gnu::aligned(alignof(Value)), gnu::may_alias]] = Value;
    constexpr std::size_t width = Width;
    std::size_t at = 0;
    for (; at + 4 * width <= bytes; at += 4 * width) {
        auto* const target = reinterpret_cast<Vector*>(into + at);
        const auto* const source = reinterpret_cast<const Vector*>(from + at);
        target[0] += source[0];
        target[1] += source[1];
        target[2] += source[2];
        target[3] += source[3];
    }
    combine_plain<Sum, Value>(into + at, from + at, bytes - at);
}

template <class Value>
void add_baseline(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
    add_vectors<Value, 16>(into, from, bytes);
}
#if defined(__x86_64__)
template <class Value>
[[gnu::target("avx2")]] void add_avx2(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
    add_vectors<Value, 32>(into, from, bytes);
}
template <class Value>
[[gnu::target("avx512f")]] void add_avx512(std::byte* into, const std::byte* from, std::size_t bytes) noexcept {
    add_vectors<Value, 64>(into, from, bytes);
}
#endif

}  // namespace detail

/// The loop that applies `Operator` to elements of type `Value`, for the running processor.
template <class Operator, class Value>
Combine combine_of() noexcept {
    if constexpr (std::same_as<Operator, Sum> && std::floating_point<Value>) {
#if defined(__x86_64__)
        if (widest_isa() == Isa::avx512) return &detail::add_avx512<Value>;
        if (widest_isa() == Isa::avx2) return &detail::add_avx2<Value>;
#endif
        return &detail::add_baseline<Value>;
    } else {
        return &detail::combine_plain<Operator, Value>;
    }
}

}  // namespace lockstep
