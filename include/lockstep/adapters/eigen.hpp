// SPDX-License-Identifier: MIT
/// @file
/// Tensors as Eigen's maps, and Eigen's matrices as views: no element is copied. CMake target lockstep::eigen.
///
///     Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> images;
///     replica.backward(Net::batch_type{view_of(images), labels});
///     const float norm = as_eigen(replica.model().gradients()).norm();
///     as_eigen(replica.model().forward(view_of(images))).rowwise().maxCoeff();
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <Eigen/Core>

#include <lockstep/core/error.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep {

template <class Matrix>
concept HasEigenMemory = (std::remove_cvref_t<Matrix>::Flags & Eigen::DirectAccessBit) != 0;

/// Writable where the view or span is.
template <class Scalar>
using EigenMatrix =
    Eigen::Map<std::conditional_t<
                   std::is_const_v<Scalar>,
                   const Eigen::Matrix<std::remove_const_t<Scalar>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                   Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>,
               Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
template <class Scalar>
using EigenVector = Eigen::Map<
    std::conditional_t<std::is_const_v<Scalar>, const Eigen::Matrix<std::remove_const_t<Scalar>, Eigen::Dynamic, 1>,
                       Eigen::Matrix<Scalar, Eigen::Dynamic, 1>>>;

/// The same memory as a matrix of Eigen, whatever the strides.
template <class Scalar>
EigenMatrix<Scalar> as_eigen(const MatrixView<Scalar>& view) {
    const auto index = [](std::size_t value) { return static_cast<Eigen::Index>(value); };
    return {view.data, index(view.rows), index(view.cols), {index(view.row_stride), index(view.col_stride)}};
}
/// Parameters, gradients or buffers as a column vector of Eigen.
template <class Scalar, std::size_t Extent>
EigenVector<Scalar> as_eigen(std::span<Scalar, Extent> values) {
    return {values.data(), static_cast<Eigen::Index>(values.size())};
}

/// The memory of a matrix, map, block or Ref of Eigen, by rows or by columns. Expressions without memory do not compile.
/// Networks take inputs whose rows are dense: Eigen::RowMajor.
template <HasEigenMemory Matrix>
auto view_of(Matrix&& matrix) {
    static_assert(
        std::is_lvalue_reference_v<Matrix> ||
            !std::is_base_of_v<Eigen::PlainObjectBase<std::remove_cvref_t<Matrix>>, std::remove_cvref_t<Matrix>>,
        "view_of: this matrix ends before its view does");
    using Scalar = std::remove_pointer_t<decltype(matrix.data())>;
    const auto size = [](Eigen::Index value) { return static_cast<std::size_t>(value); };
    return MatrixView<Scalar>(matrix.data(), size(matrix.rows()), size(matrix.cols()), size(matrix.rowStride()),
                              size(matrix.colStride()));
}

/// The elements of a vector or of a dense matrix, in memory order.
/// @throws ShapeError if there are gaps between them
template <HasEigenMemory Matrix>
auto span_of(Matrix& matrix) {
    const bool dense =
        matrix.innerStride() == 1 && (matrix.outerSize() == 1 || matrix.outerStride() == matrix.innerSize());
    if (!dense && matrix.size() > 1) {
        throw ShapeError("span_of: a matrix of " + std::to_string(matrix.rows()) + " x " +
                         std::to_string(matrix.cols()) + " with strides of " + std::to_string(matrix.rowStride()) +
                         " and " + std::to_string(matrix.colStride()) + " has gaps");
    }
    return std::span(matrix.data(), static_cast<std::size_t>(matrix.size()));
}

}  // namespace lockstep
