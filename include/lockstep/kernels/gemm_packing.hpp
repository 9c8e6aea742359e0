// SPDX-License-Identifier: MIT
/// @file
/// Copies parts of A and B into the order in which a micro kernel reads them, and the memory for it.
#pragma once

#include <algorithm>
#include <cstddef>

#include <lockstep/core/config.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep::kernels::detail {

/// A part of a matrix seen from the loop over depth: element (d, w) lies at `data[d * depth_stride + w *
/// width_stride]`.
template <class Scalar>
struct GemmPanel {
    const Scalar* data = nullptr;
    std::size_t depth = 0;
    std::size_t width = 0;
    std::size_t depth_stride = 0;
    std::size_t width_stride = 0;
};

/// Vectors of 16 bytes: every processor that we know has them.
template <class Scalar>
struct Quad {
    static constexpr std::size_t lanes = 16 / sizeof(Scalar);
    typedef Scalar Vector __attribute__((vector_size(16)));
    typedef Scalar Memory __attribute__((vector_size(16), aligned(sizeof(Scalar)), may_alias));

    static void copy(const Scalar* from, Scalar* to) noexcept {
        *reinterpret_cast<Memory*>(to) = *reinterpret_cast<const Memory*>(from);
    }

    /// Transposes a block of `lanes` x `lanes` scalars.
    static void transpose(const Scalar* from, std::size_t from_step, Scalar* to, std::size_t to_step) noexcept {
        const auto load = [&](std::size_t row) { return *reinterpret_cast<const Memory*>(from + row * from_step); };
        const auto store = [&](std::size_t row, Vector value) {
            *reinterpret_cast<Memory*>(to + row * to_step) = value;
        };
        if constexpr (lanes == 4) {
            const Vector row0 = load(0);
            const Vector row1 = load(1);
            const Vector row2 = load(2);
            const Vector row3 = load(3);
            const Vector low01 = __builtin_shufflevector(row0, row1, 0, 4, 1, 5);
            const Vector low23 = __builtin_shufflevector(row2, row3, 0, 4, 1, 5);
            const Vector high01 = __builtin_shufflevector(row0, row1, 2, 6, 3, 7);
            const Vector high23 = __builtin_shufflevector(row2, row3, 2, 6, 3, 7);
            store(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
            store(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
            store(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
            store(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
        } else {
            const Vector row0 = load(0);
            const Vector row1 = load(1);
            store(0, __builtin_shufflevector(row0, row1, 0, 2));
            store(1, __builtin_shufflevector(row0, row1, 1, 3));
        }
    }
};

/// Calls `body` with the start of each group of `lanes` among `count` >= lanes; the last may overlap the one
/// before, which spares a loop over what is left.
template <std::size_t lanes, class Body>
void for_each_group(std::size_t count, Body body) noexcept {
    for (std::size_t start = 0; start + lanes < count; start += lanes) body(start);
    body(count - lanes);
}

/// Copies `panel` to `to`: element (d, w) goes to `to[d * to_step + w]`.
template <class Scalar>
void copy_panel(const GemmPanel<Scalar>& panel, Scalar* to, std::size_t to_step) noexcept {
    using Block = Quad<Scalar>;
    constexpr std::size_t lanes = Block::lanes;
    const auto one_by_one = [&](std::size_t begin) {
        for (std::size_t depth = begin; depth < panel.depth; ++depth) {
            const Scalar* const from = panel.data + depth * panel.depth_stride;
            Scalar* const into = to + depth * to_step;
            for (std::size_t at = 0; at < panel.width; ++at) into[at] = from[at * panel.width_stride];
        }
    };
    if (panel.width >= lanes && panel.width_stride == 1) {
        for (std::size_t depth = 0; depth < panel.depth; ++depth) {
            const Scalar* const from = panel.data + depth * panel.depth_stride;
            Scalar* const into = to + depth * to_step;
            for_each_group<lanes>(panel.width, [&](std::size_t at) { Block::copy(from + at, into + at); });
        }
    } else if (panel.width >= lanes && panel.depth_stride == 1) {
        // A cache line of each source row at a time: every line is read once, and what is written stays near.
        constexpr std::size_t line = 64 / sizeof(Scalar);
        const std::size_t blocked = panel.depth - panel.depth % lanes;
        for (std::size_t begin = 0; begin < blocked; begin += line) {
            const std::size_t end = (std::min)(begin + line, blocked);
            for_each_group<lanes>(panel.width, [&](std::size_t at) {
                const Scalar* const from = panel.data + at * panel.width_stride;
                for (std::size_t depth = begin; depth < end; depth += lanes) {
                    Block::transpose(from + depth, panel.width_stride, to + depth * to_step + at, to_step);
                }
            });
        }
        one_by_one(blocked);
    } else {
        one_by_one(0);
    }
}

/// Writes `panel` to `to` as dense rows of `padded_width` >= width scalars, one for each depth; the padding
/// is zero.
template <class Scalar>
void pack(const GemmPanel<Scalar>& panel, std::size_t padded_width, Scalar* to) noexcept {
    copy_panel(panel, to, padded_width);
    if (panel.width == padded_width) return;
    for (std::size_t depth = 0; depth < panel.depth; ++depth) {
        std::fill(to + depth * padded_width + panel.width, to + (depth + 1) * padded_width, Scalar{});
    }
}

/// Room for `count` scalars, kept by the calling thread until it ends: grown when a product needs more than
/// any before, so that a repeated product allocates nothing. Contents are unspecified.
template <class Scalar>
Scalar* gemm_workspace(std::size_t count) {
    thread_local Aligned::buffer<Scalar> memory;
    if (memory.size() < count) {
        memory = {};
        memory = Aligned::buffer<Scalar>(count);
    }
    return memory.data();
}

}  // namespace lockstep::kernels::detail
