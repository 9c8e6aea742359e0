// SPDX-License-Identifier: MIT
#include <lockstep/kernels/gemm.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>

namespace {

using lockstep::Isa;
using lockstep::MatrixView;
using lockstep::kernels::Accumulate;
using lockstep::kernels::gemm;

using Scalars = std::tuple<float, double>;

std::vector<Isa> supported() {
    std::vector<Isa> sets;
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
        if (isa <= lockstep::widest_isa()) sets.push_back(isa);
    }
    return sets;
}

std::string name_of(Isa isa) { return isa == Isa::baseline ? "baseline" : isa == Isa::avx2 ? "avx2" : "avx512"; }

enum class Layout { rows, columns, submatrix, scattered };

/// A matrix in one of several layouts. What lies between its elements is `gap`, and must stay so.
template <class Scalar>
class Matrix {
public:
    Matrix(std::size_t rows, std::size_t cols, Layout layout, Scalar fill, Scalar gap)
        : rows_(rows), cols_(cols), gap_(gap) {
        row_stride_ = cols;
        if (layout == Layout::columns) std::tie(row_stride_, col_stride_) = std::pair(std::size_t{1}, rows);
        if (layout == Layout::submatrix) row_stride_ = cols + 19;
        if (layout == Layout::scattered) std::tie(row_stride_, col_stride_) = std::pair(3 * cols + 2, std::size_t{3});
        const bool empty = rows == 0 || cols == 0;
        values_.assign(empty ? 0 : (rows - 1) * row_stride_ + (cols - 1) * col_stride_ + 1, gap);
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t col = 0; col < cols; ++col) view()(row, col) = fill;
        }
    }

    MatrixView<Scalar> view() { return {values_.data(), rows_, cols_, row_stride_, col_stride_}; }

    template <class Value>
    Matrix& fill(Value value) {
        for (std::size_t row = 0; row < rows_; ++row) {
            for (std::size_t col = 0; col < cols_; ++col) view()(row, col) = static_cast<Scalar>(value(row, col));
        }
        return *this;
    }

    /// Gaps that hold something other than `gap`.
    std::size_t spoiled_gaps() {
        std::vector<bool> is_gap(values_.size(), true);
        for (std::size_t row = 0; row < rows_; ++row) {
            for (std::size_t col = 0; col < cols_; ++col) is_gap[row * row_stride_ + col * col_stride_] = false;
        }
        std::size_t count = 0;
        for (std::size_t at = 0; at < values_.size(); ++at) count += is_gap[at] && values_[at] != gap_;
        return count;
    }

private:
    std::size_t rows_;
    std::size_t cols_;
    std::size_t row_stride_ = 0;
    std::size_t col_stride_ = 1;
    Scalar gap_;
    std::vector<Scalar> values_;
};

// Small whole numbers: every partial sum is exact, so any order of additions gives the same value.
int left_value(std::size_t row, std::size_t col) { return static_cast<int>((row * 31 + col * 17) % 13) - 6; }
int right_value(std::size_t row, std::size_t col) { return static_cast<int>((row * 7 + col * 23) % 11) - 5; }
int old_value(std::size_t row, std::size_t col) { return static_cast<int>((row * 5 + col * 3) % 7); }

std::vector<double> whole_product(std::size_t m, std::size_t n, std::size_t k) {
    std::vector<double> product(m * n);
    for (std::size_t row = 0; row < m; ++row) {
        for (std::size_t at = 0; at < k; ++at) {
            for (std::size_t col = 0; col < n; ++col) {
                product[row * n + col] += left_value(row, at) * right_value(at, col);
            }
        }
    }
    return product;
}

/// Elements of C that are not as expected after one product of whole numbers; gaps that changed count too.
template <class Scalar>
std::size_t wrong_elements(std::size_t m, std::size_t n, std::size_t k, Layout a_layout, Layout b_layout,
                           Layout c_layout, Accumulate accumulate, Isa isa, const std::vector<double>& product) {
    constexpr Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
    auto a = Matrix<Scalar>(m, k, a_layout, Scalar{}, nan).fill(left_value);
    auto b = Matrix<Scalar>(k, n, b_layout, Scalar{}, nan).fill(right_value);
    Matrix<Scalar> c(m, n, c_layout, nan, Scalar{99});
    const bool adds = accumulate == Accumulate::yes;
    if (adds) c.fill(old_value);
    gemm(a.view(), b.view(), c.view(), accumulate, isa);
    std::size_t wrong = c.spoiled_gaps();
    for (std::size_t row = 0; row < m; ++row) {
        for (std::size_t col = 0; col < n; ++col) {
            const double expected = product[row * n + col] + (adds ? old_value(row, col) : 0);
            wrong += !(static_cast<double>(c.view()(row, col)) == expected);
        }
    }
    return wrong;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(all_transposed_forms_at_awkward_sizes, Scalar, Scalars) {
    const std::initializer_list<std::size_t> sizes{1, 2, 3, 5, 7, 13, 14, 15, 16, 17, 31, 32, 33, 64, 65, 100};
    for (const std::size_t m : sizes) {
        for (const std::size_t n : sizes) {
            const std::size_t k = (m * 3 + n * 5) % 37 + 1;
            const auto product = whole_product(m, n, k);
            for (const Isa isa : supported()) {
                for (const Layout a : {Layout::rows, Layout::columns}) {
                    for (const Layout b : {Layout::rows, Layout::columns}) {
                        const auto accumulate = (m + n) % 2 == 0 ? Accumulate::no : Accumulate::yes;
                        BOOST_TEST(wrong_elements<Scalar>(m, n, k, a, b, Layout::rows, accumulate, isa, product) == 0U,
                                   m << " x " << n << " x " << k << ' ' << name_of(isa));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(any_strides, Scalar, Scalars) {
    const auto layouts = {Layout::rows, Layout::columns, Layout::submatrix, Layout::scattered};
    for (const auto& [m, n, k] : {std::tuple{29U, 45U, 21U}, {37U, 5U, 40U}, {3U, 70U, 2U}}) {
        const auto product = whole_product(m, n, k);
        for (const Isa isa : supported()) {
            for (const Layout a : layouts) {
                for (const Layout b : layouts) {
                    for (const Layout c : layouts) {
                        for (const Accumulate accumulate : {Accumulate::no, Accumulate::yes}) {
                            BOOST_TEST(wrong_elements<Scalar>(m, n, k, a, b, c, accumulate, isa, product) == 0U);
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(depths_around_a_block, Scalar, Scalars) {
    for (const std::size_t k : {255U, 256U, 257U, 511U, 512U, 513U, 641U, 1025U}) {
        const auto product = whole_product(15, 35, k);
        for (const Isa isa : supported()) {
            for (const Accumulate accumulate : {Accumulate::no, Accumulate::yes}) {
                BOOST_TEST(wrong_elements<Scalar>(15, 35, k, Layout::rows, Layout::columns, Layout::rows, accumulate,
                                                  isa, product) == 0U);
                BOOST_TEST(wrong_elements<Scalar>(15, 35, k, Layout::columns, Layout::rows, Layout::columns, accumulate,
                                                  isa, product) == 0U);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(several_blocks_in_every_direction, Scalar, Scalars) {
    constexpr std::size_t m = 235;
    constexpr std::size_t n = 901;
    constexpr std::size_t k = 330;
    const auto product = whole_product(m, n, k);
    for (const Isa isa : supported()) {
        BOOST_TEST(wrong_elements<Scalar>(m, n, k, Layout::rows, Layout::rows, Layout::submatrix, Accumulate::no, isa,
                                          product) == 0U);
        BOOST_TEST(wrong_elements<Scalar>(m, n, k, Layout::columns, Layout::columns, Layout::rows, Accumulate::yes, isa,
                                          product) == 0U);
    }
}

template <class Scalar>
Matrix<Scalar> random_matrix(std::size_t rows, std::size_t cols, std::uint64_t stream) {
    lockstep::Random random(11, stream);
    auto matrix = Matrix<Scalar>(rows, cols, Layout::rows, Scalar{}, Scalar{});
    return matrix.fill([&](std::size_t, std::size_t) { return random.uniform(-1, 1); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(errors_are_as_small_as_theory_promises, Scalar, Scalars) {
    constexpr std::size_t m = 45;
    constexpr std::size_t n = 67;
    constexpr std::size_t k = 500;
    auto a = random_matrix<Scalar>(m, k, 0);
    auto b = random_matrix<Scalar>(k, n, 1);
    for (const Isa isa : supported()) {
        auto c = Matrix<Scalar>(m, n, Layout::rows, Scalar{}, Scalar{});
        gemm(a.view(), b.view(), c.view(), Accumulate::no, isa);
        double worst = 0;  // error over its bound, k eps |A| |B|, plus as much for the oracle's own
        for (std::size_t row = 0; row < m; ++row) {
            for (std::size_t col = 0; col < n; ++col) {
                double sum = 0;
                double magnitude = 0;
                for (std::size_t at = 0; at < k; ++at) {
                    const double term = static_cast<double>(a.view()(row, at)) * static_cast<double>(b.view()(at, col));
                    sum += term;
                    magnitude += std::abs(term);
                }
                const double bound = 2.0 * k * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) * magnitude;
                worst = std::max(worst, std::abs(static_cast<double>(c.view()(row, col)) - sum) / bound);
            }
        }
        BOOST_TEST(worst <= 1.0);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_part_of_the_product_has_the_same_bits, Scalar, Scalars) {
    constexpr std::size_t m = 131;
    constexpr std::size_t n = 300;
    constexpr std::size_t k = 700;
    auto a = random_matrix<Scalar>(m, k, 2);
    auto b = random_matrix<Scalar>(k, n, 3);
    for (const Isa isa : supported()) {
        auto whole = Matrix<Scalar>(m, n, Layout::rows, Scalar{}, Scalar{});
        gemm(a.view(), b.view(), whole.view(), Accumulate::no, isa);
        for (const std::size_t rows : {1U, 2U, 3U, 5U, 40U, 131U}) {
            for (const std::size_t cols : {1U, 2U, 10U, 33U, 77U}) {
                const std::size_t first_row = m - rows;
                const std::size_t first_col = n - cols;
                const lockstep::Shard row_range{first_row, rows};
                const lockstep::Shard col_range{first_col, cols};
                auto part = Matrix<Scalar>(rows, cols, Layout::rows, Scalar{}, Scalar{});
                const auto b_part = b.view().transposed().slice(col_range).transposed();
                gemm(a.view().slice(row_range), b_part, part.view(), Accumulate::no, isa);
                std::size_t different = 0;
                for (std::size_t row = 0; row < rows; ++row) {
                    for (std::size_t col = 0; col < cols; ++col) {
                        different += part.view()(row, col) != whole.view()(first_row + row, first_col + col);
                    }
                }
                BOOST_TEST(different == 0U, rows << " x " << cols << ' ' << name_of(isa));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(threads_do_not_share_workspace) {
    // Each thread multiplies numbers of its own, all the time that the others do.
    constexpr std::size_t size = 90;
    std::vector<std::size_t> wrong(4);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> running{0};
    for (std::size_t index = 0; index < wrong.size(); ++index) {
        threads.emplace_back([&running, &result = wrong[index], index] {
            const auto factor = static_cast<float>(index + 1);
            const std::vector<float> a(size * size, factor);
            const std::vector<float> b(size * size, 1.0F);
            std::vector<float> c(size * size);
            ++running;
            while (running < 4) std::this_thread::yield();
            for (int round = 0; round < 200; ++round) {
                gemm(MatrixView<const float>(a.data(), size, size),
                     MatrixView<const float>(b.data(), size, size).transposed(),
                     MatrixView<float>(c.data(), size, size));
                gemm(MatrixView<const float>(b.data(), size, size),
                     MatrixView<const float>(a.data(), size, size).transposed(),
                     MatrixView<float>(c.data(), size, size), Accumulate::yes);
                for (const float value : c) result += value != 2 * factor * static_cast<float>(size);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(wrong == std::vector<std::size_t>(4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_stride_of_zero_repeats_a_value, Scalar, Scalars) {
    // Ones times B: the sums of its columns, as a bias gradient needs them.
    const Scalar one = 1;
    auto b = Matrix<Scalar>(20, 37, Layout::rows, Scalar{}, Scalar{}).fill(right_value);
    for (const Isa isa : supported()) {
        std::vector<Scalar> sums(37);
        gemm(MatrixView<const Scalar>(&one, 1, 20, 0, 0), b.view(), MatrixView<Scalar>(sums.data(), 1, 37),
             Accumulate::no, isa);
        for (std::size_t col = 0; col < 37; ++col) {
            int expected = 0;
            for (std::size_t row = 0; row < 20; ++row) expected += right_value(row, col);
            BOOST_TEST(sums[col] == static_cast<Scalar>(expected));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(without_depth_the_product_is_zero, Scalar, Scalars) {
    const MatrixView<const Scalar> a(nullptr, 3, 0);
    const MatrixView<const Scalar> b(nullptr, 0, 2);
    std::vector<Scalar> c(6, std::numeric_limits<Scalar>::quiet_NaN());
    gemm(a, b, MatrixView<Scalar>(c.data(), 3, 2));
    BOOST_TEST(c == std::vector<Scalar>(6), boost::test_tools::per_element());
    c.assign(6, Scalar{4});
    gemm(a, b, MatrixView<Scalar>(c.data(), 3, 2), Accumulate::yes);
    BOOST_TEST(c == std::vector<Scalar>(6, Scalar{4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(without_rows_or_columns_nothing_happens, Scalar, Scalars) {
    const std::vector<Scalar> values(12, Scalar{1});
    const MatrixView<const Scalar> some(values.data(), 3, 4);
    BOOST_CHECK_NO_THROW(gemm(MatrixView<const Scalar>(nullptr, 0, 3), some, MatrixView<Scalar>(nullptr, 0, 4)));
    BOOST_CHECK_NO_THROW(gemm(some, MatrixView<const Scalar>(nullptr, 4, 0), MatrixView<Scalar>(nullptr, 3, 0)));
    BOOST_CHECK_NO_THROW(
        gemm(MatrixView<const Scalar>(), MatrixView<const Scalar>(), MatrixView<Scalar>(), Accumulate::yes));
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_named) {
    std::vector<float> values(60, 7.0F);
    const auto matrix = [&](std::size_t rows, std::size_t cols) {
        return MatrixView<float>(values.data(), rows, cols);
    };
    const auto names_all = [](const lockstep::ShapeError& error) {
        return std::string(error.what()) == "gemm: A (3 x 4) times B (5 x 6) does not make C (3 x 6)";
    };
    BOOST_CHECK_EXCEPTION(gemm(matrix(3, 4), matrix(5, 6), matrix(3, 6)), lockstep::ShapeError, names_all);
    BOOST_CHECK_THROW(gemm(matrix(3, 4), matrix(4, 6), matrix(2, 6)), lockstep::ShapeError);
    BOOST_CHECK_THROW(gemm(matrix(3, 4), matrix(4, 6), matrix(3, 5)), lockstep::ShapeError);
    BOOST_TEST(values == std::vector<float>(60, 7.0F), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(kernels_that_the_processor_lacks_are_refused) {
    if (lockstep::widest_isa() == Isa::avx512) return;
    float value = 1;
    const MatrixView<float> one(&value, 1, 1);
    BOOST_CHECK_THROW(gemm(one, one, one, Accumulate::no, Isa::avx512), lockstep::ConfigurationError);
}

}  // namespace
