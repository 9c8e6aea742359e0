// SPDX-License-Identifier: MIT
/// @file
/// The matrix product, for float and double.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include <lockstep/core/error.hpp>
#include <lockstep/core/isa.hpp>
#include <lockstep/kernels/gemm_blocking.hpp>
#include <lockstep/kernels/gemm_micro.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep::kernels {

/// What becomes of the old values of C: `no` overwrites them unread, `yes` adds to them.
enum class Accumulate { no, yes };

namespace detail {

template <class Scalar>
std::string shape_of(MatrixView<Scalar> matrix) {
    return std::to_string(matrix.rows) + " x " + std::to_string(matrix.cols);
}

template <class Scalar>
void require_product(MatrixView<const Scalar> a, MatrixView<const Scalar> b, MatrixView<Scalar> c) {
    if (a.rows == c.rows && a.cols == b.rows && b.cols == c.cols) return;
    throw ShapeError("gemm: A (" + shape_of(a) + ") times B (" + shape_of(b) + ") does not make C (" + shape_of(c) +
                     ")");
}

/// Roughly twice the cycles for C (m, n): multiply-adds of vectors, the last of each row padded, and of copies.
template <class Scalar>
std::size_t gemm_cost(const GemmKernels<Scalar>& kernels, std::size_t m, std::size_t n, std::size_t k,
                      bool contiguous) noexcept {
    const std::size_t whole = n / kernels.lanes;
    const std::size_t rest = n % kernels.lanes;
    // One or two rows at a time cannot fill the pipelines.
    const std::size_t halves = rest == 0 ? 0 : rest <= kernels.narrow && kernels.narrow < kernels.lanes ? 1 : 2;
    // What fills its tiles is written without a copy.
    const std::size_t copied = contiguous ? (rest % kernels.narrow == 0 ? 0 : rest) : n;
    return std::max<std::size_t>(m, 3) * ((2 * whole + halves) * k + 2 * copied);
}

}  // namespace detail

/// C = A B, or C += A B. A is (m, k), B is (k, n), C is (m, n); for transposed forms pass `a.transposed()`.
///
/// Strides are arbitrary; C must not overlap A or B. If k is 0 the product is zero.
/// Complexity: 2 m n k operations. A thread allocates workspace, at most 1.4 MiB, when a product needs more
/// than its earlier ones, and keeps it.
/// Determinism: an element of C depends on its row of A, its column of B, k and `isa` only; not on m, n,
/// strides or threads. So a product of some of the rows has the same bits as these rows of the whole product.
/// @throws ShapeError if the shapes do not fit; ConfigurationError if this processor lacks `isa`; bad_alloc
template <std::floating_point Scalar>
void gemm(MatrixView<const std::type_identity_t<Scalar>> a, MatrixView<const std::type_identity_t<Scalar>> b,
          MatrixView<Scalar> c, Accumulate accumulate = Accumulate::no, Isa isa = widest_isa()) {
    static_assert(std::same_as<Scalar, float> || std::same_as<Scalar, double>,
                  "gemm writes matrices of float or double");
    detail::require_product<Scalar>(a, b, c);
    if (isa > widest_isa()) throw ConfigurationError("gemm: this processor lacks the instructions asked for");
    if (c.rows == 0 || c.cols == 0) return;
    if (a.cols == 0) {
        if (accumulate == Accumulate::yes) return;
        for (std::size_t row = 0; row < c.rows; ++row) {
            for (std::size_t col = 0; col < c.cols; ++col) c(row, col) = Scalar{};
        }
        return;
    }
    const detail::GemmKernels<Scalar>& kernels = detail::gemm_kernels<Scalar>(isa);
    // The transposed product C^T = B^T A^T has the same values; it wins where rows of C are short or its
    // columns contiguous.
    if (detail::gemm_cost(kernels, c.cols, c.rows, a.cols, c.row_stride == 1) <
        detail::gemm_cost(kernels, c.rows, c.cols, a.cols, c.col_stride == 1)) {
        const MatrixView<const Scalar> a_transposed = a.transposed();
        a = b.transposed();
        b = a_transposed;
        c = c.transposed();
    }
    detail::GemmLoops<Scalar>(kernels, a, b, c).run(accumulate == Accumulate::yes);
}

/// The product that layers are made of, as a policy: this one, or somebody else's (adapters/cblas.hpp). `product` has the
/// contract of `gemm`, of whose determinism a policy may promise less: ranks agree all the same, since they share sums.
struct OwnGemm {
    template <std::floating_point Scalar>
    static void product(MatrixView<const std::type_identity_t<Scalar>> a,
                        MatrixView<const std::type_identity_t<Scalar>> b, MatrixView<Scalar> c,
                        Accumulate accumulate = Accumulate::no) {
        gemm(a, b, c, accumulate);
    }
};

}  // namespace lockstep::kernels
