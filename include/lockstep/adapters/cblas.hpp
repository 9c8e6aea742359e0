// SPDX-License-Identifier: MIT
/// @file
/// CblasGemm: layers multiply with OpenBLAS, MKL or any other CBLAS. CMake target lockstep::cblas.
///
///     using Net = Network<Sequential<Linear<784, 512, CblasGemm>, Relu, Linear<512, 10, CblasGemm>>, CrossEntropy>;
#pragma once

#include <climits>
#include <concepts>
#include <cstddef>
#include <type_traits>

#if __has_include(<cblas.h>)
#include <cblas.h>
#else
#include <mkl_cblas.h>
#endif

#include <lockstep/kernels/gemm.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

/// A policy for layers (kernels/gemm.hpp). Choose it when products are large and the library is tuned for your processor.
///
/// Matrices whose rows or columns are not dense, and extents beyond `int`, go to the product of this library.
/// Threads: most libraries start some for each product. Ranks that are threads want one each: OPENBLAS_NUM_THREADS=1 or
/// MKL_NUM_THREADS=1. Determinism: the library's; a shard's rows may round otherwise than the same rows in the batch.
struct CblasGemm {
    template <std::floating_point Scalar>
    static void product(MatrixView<const std::type_identity_t<Scalar>> a,
                        MatrixView<const std::type_identity_t<Scalar>> b, MatrixView<Scalar> c,
                        kernels::Accumulate accumulate = kernels::Accumulate::no) {
        kernels::detail::require_product<Scalar>(a, b, c);
        // C in columns: its transpose is in rows.
        if (c.col_stride != 1 && c.row_stride == 1)
            return product<Scalar>(b.transposed(), a.transposed(), c.transposed(), accumulate);
        if (!is_dense(a) || !is_dense(b) || c.col_stride != 1 || !fits(c) || a.cols == 0 || c.numel() == 0) {
            return kernels::gemm(a, b, c, accumulate);
        }
        const auto call = [&](auto function) {
            function(CblasRowMajor, a.col_stride == 1 ? CblasNoTrans : CblasTrans,
                     b.col_stride == 1 ? CblasNoTrans : CblasTrans, static_cast<int>(c.rows), static_cast<int>(c.cols),
                     static_cast<int>(a.cols), Scalar{1}, a.data, leading(a), b.data, leading(b),
                     accumulate == kernels::Accumulate::yes ? Scalar{1} : Scalar{0}, c.data, leading(c));
        };
        if constexpr (std::same_as<Scalar, float>) call(cblas_sgemm);
        else call(cblas_dgemm);
    }

private:
    template <class Scalar>
    static bool fits(const MatrixView<Scalar>& matrix) noexcept {
        return matrix.rows <= INT_MAX && matrix.cols <= INT_MAX && matrix.row_stride <= INT_MAX &&
               matrix.col_stride <= INT_MAX;
    }
    /// One of its strides is 1, and lines along it do not overlap.
    template <class Scalar>
    static bool is_dense(const MatrixView<Scalar>& matrix) noexcept {
        return fits(matrix) && ((matrix.col_stride == 1 && matrix.row_stride >= matrix.cols) ||
                                (matrix.row_stride == 1 && matrix.col_stride >= matrix.rows));
    }
    template <class Scalar>
    static int leading(const MatrixView<Scalar>& matrix) noexcept {
        const bool in_rows = matrix.col_stride == 1;
        const std::size_t least = in_rows ? matrix.cols : matrix.rows;
        const std::size_t stride = in_rows ? matrix.row_stride : matrix.col_stride;
        return static_cast<int>(stride < least ? least : stride);
    }
};

}  // namespace lockstep
