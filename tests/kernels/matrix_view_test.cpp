// SPDX-License-Identifier: MIT
#include <lockstep/kernels/matrix_view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <numeric>
#include <span>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::MatrixView;

static_assert(std::convertible_to<MatrixView<float>, MatrixView<const float>>);
static_assert(!std::convertible_to<MatrixView<const float>, MatrixView<float>>, "constness is not lost");

// 3 x 4, element (i, j) is 4 i + j.
constexpr std::array<double, 12> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
constexpr MatrixView<const double> matrix(numbers.data(), 3, 4);

static_assert(matrix(2, 1) == 9 && matrix.numel() == 12);

BOOST_AUTO_TEST_CASE(a_dense_matrix_is_row_major) {
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t col = 0; col < 4; ++col) BOOST_TEST(matrix(row, col) == static_cast<double>(4 * row + col));
    }
    const std::span<const double> row = matrix.row(1);
    BOOST_TEST(row.size() == 4U);
    BOOST_TEST(row.front() == 4);
    BOOST_TEST(row.back() == 7);
}

BOOST_AUTO_TEST_CASE(transposing_swaps_the_indices) {
    const auto transposed = matrix.transposed();
    BOOST_TEST(transposed.rows == 4U);
    BOOST_TEST(transposed.cols == 3U);
    BOOST_TEST(transposed.data == numbers.data());
    BOOST_TEST(transposed(1, 2) == 9);
    BOOST_TEST(transposed.transposed()(2, 1) == 9);
    BOOST_TEST(transposed.transposed().row_stride == 4U);
}

BOOST_AUTO_TEST_CASE(slices_are_rows_also_of_a_transposed_matrix) {
    const auto rows = matrix.slice({1, 2});
    BOOST_TEST(rows.rows == 2U);
    BOOST_TEST(rows.cols == 4U);
    BOOST_TEST(rows(1, 3) == 11);
    const auto columns = matrix.transposed().slice({2, 2});
    BOOST_TEST(columns.rows == 2U);
    BOOST_TEST(columns(0, 0) == 2);
    BOOST_TEST(columns(1, 2) == 11);
    BOOST_TEST(matrix.slice({3, 0}).numel() == 0U);
}

BOOST_AUTO_TEST_CASE(strides_leave_out_what_lies_between) {
    std::array<float, 12> values{};
    std::iota(values.begin(), values.end(), 0.0F);
    // Every other column of the first two of three columns' rows.
    const MatrixView<float> sparse(values.data() + 1, 3, 2, 4, 2);
    BOOST_TEST(sparse(0, 0) == 1);
    BOOST_TEST(sparse(2, 1) == 11);
    sparse(1, 1) = 70;
    BOOST_TEST(values[7] == 70);
    const MatrixView<const float> constant = sparse;
    BOOST_TEST(constant(1, 1) == 70);
    BOOST_TEST(constant.col_stride == 2U);
}

BOOST_AUTO_TEST_CASE(a_view_of_nothing_is_empty) {
    const MatrixView<float> none;
    BOOST_TEST(none.numel() == 0U);
    BOOST_TEST(none.data == nullptr);
    BOOST_TEST(none.slice({0, 0}).rows == 0U);
}

}  // namespace
