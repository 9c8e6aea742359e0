// SPDX-License-Identifier: MIT
#include <lockstep/kernels/rows.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::MatrixView;
namespace kernels = lockstep::kernels;

BOOST_AUTO_TEST_CASE(a_bias_is_added_to_each_row_and_to_nothing_else) {
    for (std::size_t cols = 1; cols <= 9; ++cols) {
        constexpr std::size_t rows = 3;
        const std::size_t stride = cols + 2;
        std::vector<float> memory(rows * stride, 1);
        std::vector<float> bias(cols);
        for (std::size_t j = 0; j < cols; ++j) bias[j] = static_cast<float>(j) + 1;
        kernels::add_to_rows(std::span(bias), MatrixView<float>(memory.data(), rows, cols, stride, 1));
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < stride; ++j) {
                BOOST_TEST(memory[i * stride + j] == (j < cols ? static_cast<float>(j) + 2 : 1.0F));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(column_sums_are_added) {
    constexpr std::size_t rows = 4;
    constexpr std::size_t cols = 7;
    std::vector<double> values(rows * cols);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) values[i * cols + j] = static_cast<double>(10 * i + j);
    }
    std::vector<double> sums(cols, 1000);
    kernels::add_column_sums(MatrixView<const double>(values.data(), rows, cols), std::span(sums));
    // 10 (0 + 1 + 2 + 3) + 4 j
    for (std::size_t j = 0; j < cols; ++j) BOOST_TEST(sums[j] == 1060 + 4 * static_cast<double>(j));
}

BOOST_AUTO_TEST_CASE(log_sum_exp_of_equal_elements) {
    for (const double value : {-1e4, -1.0, 0.0, 1e4}) {
        const std::vector<double> row(8, value);
        BOOST_TEST(std::abs(kernels::log_sum_exp(std::span(row)) - (value + std::log(8.0))) < 1e-11);
    }
    const std::array<float, 2> far{-1e4F, 1e4F};
    BOOST_TEST(kernels::log_sum_exp(std::span<const float>(far)) == 1e4);
}

BOOST_AUTO_TEST_CASE(softmax_of_known_ratios) {
    // Logits log 1, log 2, log 5 have probabilities 1/8, 2/8, 5/8.
    const std::array<double, 3> row{0, std::log(2.0), std::log(5.0)};
    std::array<double, 3> probabilities{};
    const double sum = kernels::softmax(std::span<const double>(row), std::span<double>(probabilities));
    BOOST_TEST(std::abs(sum - std::log(8.0)) < 1e-15);
    BOOST_TEST(sum == kernels::log_sum_exp(std::span<const double>(row)));
    BOOST_TEST(std::abs(probabilities[0] - 0.125) < 1e-15);
    BOOST_TEST(std::abs(probabilities[1] - 0.25) < 1e-15);
    BOOST_TEST(std::abs(probabilities[2] - 0.625) < 1e-15);
}

BOOST_AUTO_TEST_CASE(softmax_of_far_elements_is_exact) {
    const std::array<float, 5> row{-1e4F, 1e4F, 0, 1e4F, -1e4F};
    std::array<float, 5> probabilities{};
    kernels::softmax(std::span<const float>(row), std::span<float>(probabilities));
    BOOST_TEST(probabilities == (std::array<float, 5>{0, 0.5F, 0, 0.5F, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(argmax_is_the_first_of_equals) {
    const std::array<float, 5> row{-3, 2, 7, 7, 1};
    BOOST_TEST(kernels::argmax(std::span<const float>(row)) == 2U);
    BOOST_TEST(kernels::argmax(std::span<const float>(row).first(1)) == 0U);
}

}  // namespace
