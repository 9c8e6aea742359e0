// SPDX-License-Identifier: MIT
/// @file
/// The loop of every optimizer: parameters, gradients and state pass once, a vector at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <lockstep/core/isa.hpp>
#include <lockstep/kernels/elementwise.hpp>

namespace lockstep::detail {

/// Element by element, for a number and for vectors of any width.
template <class Scalar, class Value>
[[gnu::always_inline]] inline void take_square_root(Value& value) noexcept {
    // Pieces of 16 bytes: their instruction exists on every processor, and inside of every kernel.
    using Lanes = kernels::detail::Lanes<Scalar, 16 / sizeof(Scalar)>;
    typename Lanes::value_type pieces[sizeof(Value) / 16];
    static_assert(sizeof pieces == sizeof value);
    std::memcpy(&pieces, &value, sizeof value);
    for (auto& piece : pieces) piece = Lanes::square_root(piece);
    std::memcpy(&value, &pieces, sizeof value);
}

/// `count` neighbouring elements of everything that a step reads and writes.
template <class Scalar, std::size_t Slots>
struct Updated {
    Scalar* parameters;
    const Scalar* gradients;
    std::array<Scalar*, Slots> state;
    std::size_t count;
};

/// `Kernel::apply(coefficients, parameter, gradient, state)` on whole vectors of `Width` bytes.
template <int Width, class Kernel, class Scalar>
[[gnu::always_inline]] inline void update_vectors(const typename Kernel::coefficients_type& given,
                                                  const Updated<Scalar, Kernel::slots>& elements) noexcept {
    using Vector [[gnu::vector_size(Width)]] = Scalar;
    // The same in memory, where only elements are aligned.
    using Memory [[gnu::vector_size(Width), gnu::aligned(alignof(Scalar)), gnu::may_alias]] = Scalar;
    const auto coefficients = given;  // A copy that no store can touch stays in registers.
    const auto [parameters, gradients, slots, count] = elements;
    for (std::size_t at = 0; at < count; at += static_cast<std::size_t>(Width) / sizeof(Scalar)) {
        Vector parameter = *reinterpret_cast<const Memory*>(parameters + at);
        Vector gradient = *reinterpret_cast<const Memory*>(gradients + at);
        Vector state[Kernel::slots + 1];
        for (std::size_t slot = 0; slot < Kernel::slots; ++slot) {
            state[slot] = *reinterpret_cast<const Memory*>(slots[slot] + at);
        }
        Kernel::template apply<Scalar>(coefficients, parameter, gradient, state);
        for (std::size_t slot = 0; slot < Kernel::slots; ++slot) {
            *reinterpret_cast<Memory*>(slots[slot] + at) = state[slot];
        }
        *reinterpret_cast<Memory*>(parameters + at) = parameter;
    }
}

template <class Kernel, class Scalar>
[[gnu::noinline]] void update_baseline(const typename Kernel::coefficients_type& coefficients,
                                       const Updated<Scalar, Kernel::slots>& elements) noexcept {
    update_vectors<16, Kernel>(coefficients, elements);
}
#if defined(__x86_64__)
// Without fused multiply-adds, which would round differently than the baseline.
template <class Kernel, class Scalar>
[[gnu::noinline, gnu::target("avx2")]] void update_avx2(const typename Kernel::coefficients_type& coefficients,
                                                        const Updated<Scalar, Kernel::slots>& elements) noexcept {
    update_vectors<32, Kernel>(coefficients, elements);
}
#endif

/// Whole vectors, then the rest laid out as one more. All goes through one piece of machine code, so that an element
/// moves by the same bits wherever it lies: pieces of a step make the bits of the whole.
template <class Kernel, class Scalar>
void update(const typename Kernel::coefficients_type& coefficients, Updated<Scalar, Kernel::slots> elements) noexcept {
#if defined(__x86_64__)
    const bool wide = widest_isa() != Isa::baseline;
    const std::size_t width = (wide ? 32 : 16) / sizeof(Scalar);
    const auto run = wide ? &update_avx2<Kernel, Scalar> : &update_baseline<Kernel, Scalar>;
#else
    constexpr std::size_t width = 16 / sizeof(Scalar);
    const auto run = &update_baseline<Kernel, Scalar>;
#endif
    const std::size_t rest = elements.count % width;
    const std::size_t whole = elements.count - rest;
    elements.count = whole;
    if (whole > 0) run(coefficients, elements);
    if (rest == 0) return;
    Scalar padded[Kernel::slots + 2][32 / sizeof(Scalar)] = {};
    Updated<Scalar, Kernel::slots> last{padded[0], padded[1], {}, width};
    std::copy_n(elements.parameters + whole, rest, padded[0]);
    std::copy_n(elements.gradients + whole, rest, padded[1]);
    for (std::size_t slot = 0; slot < Kernel::slots; ++slot) {
        last.state[slot] = padded[slot + 2];
        std::copy_n(elements.state[slot] + whole, rest, padded[slot + 2]);
    }
    run(coefficients, last);
    std::copy_n(padded[0], rest, elements.parameters + whole);
    for (std::size_t slot = 0; slot < Kernel::slots; ++slot) {
        std::copy_n(padded[slot + 2], rest, elements.state[slot] + whole);
    }
}

}  // namespace lockstep::detail
