// SPDX-License-Identifier: MIT
/// @file
/// The innermost part of the matrix product: one tile of C held in registers, for each instruction set.
#pragma once

#include <cstddef>
#include <utility>

#include <lockstep/core/config.hpp>
#include <lockstep/core/isa.hpp>

namespace lockstep::kernels::detail {

/// One call of a micro kernel: a tile of C (rows, vectors * lanes) from a part of A (rows, depth) and one of
/// B (depth, vectors * lanes). A has any strides; rows of B and C are contiguous, and `*_step` scalars apart.
template <class Scalar>
struct GemmTile {
    std::size_t depth = 0;
    const Scalar* a = nullptr;
    std::size_t a_row_stride = 0;
    std::size_t a_step = 0;  // from one depth to the next
    const Scalar* b = nullptr;
    std::size_t b_step = 0;
    Scalar* c = nullptr;
    std::size_t c_step = 0;
    bool accumulate = false;
};

/// The micro kernels of one instruction set.
template <class Scalar>
struct GemmKernels {
    using Function = void (*)(const GemmTile<Scalar>&) noexcept;

    std::size_t lanes;               ///< scalars in a vector
    std::size_t narrow;              ///< columns of the narrowest tile: half a vector, where the processor has such
    std::size_t max_rows;            ///< rows of the largest tile
    const Function (*functions)[3];  ///< [rows - 1][narrow, one vector, two]

    std::size_t max_cols() const noexcept { return 2 * lanes; }
    /// The columns of the narrowest tile that `cols`, at most `max_cols()`, fit into.
    std::size_t padded(std::size_t cols) const noexcept {
        return cols <= narrow ? narrow : cols <= lanes ? lanes : 2 * lanes;
    }
    /// Of the `cols` columns that are left, those of the next tile: 24 of 16 lanes are a vector and a half.
    std::size_t next_cols(std::size_t cols) const noexcept {
        if (cols >= 2 * lanes) return 2 * lanes;
        return cols > lanes && cols - lanes <= narrow && narrow < lanes ? lanes : cols;
    }
    Function of(std::size_t rows, std::size_t padded_cols) const noexcept {
        return functions[rows - 1][padded_cols > lanes ? 2 : padded_cols == lanes ? 1 : 0];
    }
};

// The body is a macro since compilers split vectors that a function's own target lacks before they inline it:
// each function that touches a vector needs the attribute itself, and an attribute cannot depend on a
// template parameter. All loops over rows unroll, so that `sums` lives in registers. Each element of C is
// summed over depth in order, in one accumulator, whatever the tile: its bits do not depend on its place or
// on the sizes of A and B.
#define LOCKSTEP_GEMM_KERNEL(Name, bytes, most_rows, ...)                                              \
    template <class Scalar>                                                                            \
    struct Name {                                                                                      \
        static constexpr std::size_t lanes = (bytes) / sizeof(Scalar);                                 \
        static constexpr std::size_t max_rows = most_rows;                                             \
        typedef Scalar Vector __attribute__((vector_size(bytes)));                                     \
        typedef Scalar Memory __attribute__((vector_size(bytes), aligned(sizeof(Scalar)), may_alias)); \
                                                                                                       \
        template <std::size_t Rows, std::size_t Vectors>                                               \
        __VA_ARGS__ static void multiply(const GemmTile<Scalar>& tile) noexcept {                      \
            Vector sums[Rows][Vectors] = {};                                                           \
            const Scalar* a = tile.a;                                                                  \
            const Scalar* b = tile.b;                                                                  \
            const std::size_t a_row_stride = tile.a_row_stride;                                        \
            const std::size_t a_step = tile.a_step;                                                    \
            const std::size_t b_step = tile.b_step;                                                    \
            if (tile.depth > 32) {                                                                     \
                _Pragma("GCC unroll 14") for (std::size_t row = 0; row < Rows; ++row) {                \
                    __builtin_prefetch(tile.c + row * tile.c_step, 1);                                 \
                    __builtin_prefetch(tile.c + row * tile.c_step + Vectors * lanes - 1, 1);           \
                }                                                                                      \
            }                                                                                          \
            for (std::size_t left = tile.depth; left != 0; --left, a += a_step, b += b_step) {         \
                const Vector first = *reinterpret_cast<const Memory*>(b);                              \
                const Vector last = *reinterpret_cast<const Memory*>(b + (Vectors - 1) * lanes);       \
                _Pragma("GCC unroll 14") for (std::size_t row = 0; row < Rows; ++row) {                \
                    sums[row][0] += a[row * a_row_stride] * first;                                     \
                    if constexpr (Vectors == 2) sums[row][1] += a[row * a_row_stride] * last;          \
                }                                                                                      \
            }                                                                                          \
            Scalar* c = tile.c;                                                                        \
            _Pragma("GCC unroll 14") for (std::size_t row = 0; row < Rows; ++row, c += tile.c_step) {  \
                Memory* const out = reinterpret_cast<Memory*>(c);                                      \
                if (tile.accumulate) {                                                                 \
                    out[0] += sums[row][0];                                                            \
                    if constexpr (Vectors == 2) out[1] += sums[row][1];                                \
                } else {                                                                               \
                    out[0] = sums[row][0];                                                             \
                    if constexpr (Vectors == 2) out[1] = sums[row][1];                                 \
                }                                                                                      \
            }                                                                                          \
        }                                                                                              \
    }

// Tiles as large as the registers allow: two vectors of B, one or two for A, the rest holds C. Half vectors make the bits of
// whole ones: all multiply and add at once, or none does.
LOCKSTEP_GEMM_KERNEL(BaselineKernel, 16, 6, );
#if defined(__x86_64__)
LOCKSTEP_GEMM_KERNEL(HalfAvx2Kernel, 16, 6, [[gnu::target("avx2,fma")]]);
LOCKSTEP_GEMM_KERNEL(Avx2Kernel, 32, 6, [[gnu::target("avx2,fma")]]);
LOCKSTEP_GEMM_KERNEL(HalfAvx512Kernel, 32, 14, [[gnu::target("avx512f,avx512vl,fma")]]);
LOCKSTEP_GEMM_KERNEL(Avx512Kernel, 64, 14, [[gnu::target("avx512f,fma")]]);
#endif
#undef LOCKSTEP_GEMM_KERNEL

template <class Scalar, class Kernel, class Half>
struct GemmTable {
    template <std::size_t... Index>
    static const GemmKernels<Scalar>& make(std::index_sequence<Index...>) noexcept {
        static constexpr typename GemmKernels<Scalar>::Function functions[][3] = {
            {&Half::template multiply<Index + 1, 1>, &Kernel::template multiply<Index + 1, 1>,
             &Kernel::template multiply<Index + 1, 2>}...};
        static constexpr GemmKernels<Scalar> kernels{Kernel::lanes, Half::lanes, Kernel::max_rows, functions};
        return kernels;
    }
    static const GemmKernels<Scalar>& get() noexcept { return make(std::make_index_sequence<Kernel::max_rows>{}); }
};

/// The kernels for `isa`, which the processor must support.
template <class Scalar>
const GemmKernels<Scalar>& gemm_kernels([[maybe_unused]] Isa isa) noexcept {
#if defined(__x86_64__)
    if (isa == Isa::avx512) return GemmTable<Scalar, Avx512Kernel<Scalar>, HalfAvx512Kernel<Scalar>>::get();
    if (isa == Isa::avx2) return GemmTable<Scalar, Avx2Kernel<Scalar>, HalfAvx2Kernel<Scalar>>::get();
#endif
    return GemmTable<Scalar, BaselineKernel<Scalar>, BaselineKernel<Scalar>>::get();
}

}  // namespace lockstep::kernels::detail
