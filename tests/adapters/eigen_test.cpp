// SPDX-License-Identifier: MIT
#include <lockstep/adapters/eigen.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>

namespace {

using namespace lockstep;

using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ByColumns = Eigen::MatrixXd;

template <class Matrix>
Matrix numbered(Eigen::Index rows, Eigen::Index cols) {
    Matrix matrix(rows, cols);
    for (Eigen::Index row = 0; row < rows; ++row) {
        for (Eigen::Index col = 0; col < cols; ++col) matrix(row, col) = static_cast<double>(10 * row + col);
    }
    return matrix;
}

/// The view has the matrix's elements, in the matrix's memory.
template <class Matrix>
void check_same_elements(Matrix& matrix) {
    const auto view = view_of(matrix);
    BOOST_TEST(view.rows == static_cast<std::size_t>(matrix.rows()));
    BOOST_TEST(view.cols == static_cast<std::size_t>(matrix.cols()));
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
        for (Eigen::Index col = 0; col < matrix.cols(); ++col) {
            const double* const place = &view(static_cast<std::size_t>(row), static_cast<std::size_t>(col));
            BOOST_TEST(place == &matrix.coeffRef(row, col));
        }
    }
    // And back.
    BOOST_TEST((as_eigen(view) == matrix));
    BOOST_TEST((as_eigen(view.transposed()) == matrix.transpose()));
}

BOOST_AUTO_TEST_CASE(views_are_the_memory_of_matrices_blocks_and_maps) {
    auto by_rows = numbered<ByRows>(4, 3);
    auto by_columns = numbered<ByColumns>(4, 3);
    check_same_elements(by_rows);
    check_same_elements(by_columns);
    auto block = by_rows.block(1, 1, 2, 2);
    check_same_elements(block);
    auto of_columns = by_columns.block(1, 0, 3, 2);
    check_same_elements(of_columns);
    Eigen::Ref<ByColumns> reference(by_columns);
    check_same_elements(reference);
    Eigen::Map<ByRows, 0, Eigen::OuterStride<>> map(by_rows.data(), 2, 2, Eigen::OuterStride<>(6));
    check_same_elements(map);
    auto empty = numbered<ByRows>(0, 3);
    check_same_elements(empty);
}

BOOST_AUTO_TEST_CASE(what_is_constant_stays_so) {
    const auto matrix = numbered<ByRows>(2, 2);
    static_assert(std::is_same_v<decltype(view_of(matrix)), MatrixView<const double>>);
    static_assert(std::is_const_v<decltype(span_of(matrix))::element_type>);
    const std::array<float, 2> values{3, 4};
    BOOST_TEST(as_eigen(std::span<const float>(values)).norm() == 5.0F);
}

BOOST_AUTO_TEST_CASE(spans_are_the_elements_of_what_has_no_gaps) {
    auto matrix = numbered<ByRows>(3, 2);
    BOOST_TEST(span_of(matrix).data() == matrix.data());
    BOOST_TEST(span_of(matrix).size() == 6U);
    Eigen::VectorXd vector = Eigen::VectorXd::Ones(5);
    BOOST_TEST(span_of(vector).size() == 5U);
    auto column = matrix.col(1);
    BOOST_CHECK_EXCEPTION(span_of(column), ShapeError, [](const Error& error) {
        return std::string(error.what()).find("3 x 1 with strides of 2") != std::string::npos;
    });
    auto block = matrix.topLeftCorner(2, 1);
    BOOST_CHECK_THROW(span_of(block), ShapeError);
}

BOOST_AUTO_TEST_CASE(a_network_computes_what_eigen_does) {
    using Net = Network<Sequential<Linear<3, 4>, Tanh, Linear<4, 2>>, CrossEntropy, double>;
    Net net{5};
    const ByRows rows = numbered<ByRows>(7, 3) / 40;
    const auto all = std::span<const double>(net.parameters());
    const auto matrix = [&](std::size_t first, std::size_t out, std::size_t in) {
        return as_eigen(MatrixView<const double>(all.data() + first, out, in));
    };
    const auto bias = [&](std::size_t first, std::size_t out) { return as_eigen(all.subspan(first, out)).transpose(); };
    const ByRows hidden = ((rows * matrix(0, 4, 3).transpose()).rowwise() + bias(12, 4)).array().tanh();
    const ByRows expected = (hidden * matrix(16, 2, 4).transpose()).rowwise() + bias(24, 2);
    const double difference = (as_eigen(net.forward(view_of(rows))) - expected).norm();
    BOOST_TEST(difference < 1e-13);

    // Row-major inputs as a batch; a gradient step by Eigen.
    const std::vector<std::int32_t> labels{0, 1, 0, 1, 0, 1, 0};
    const double before = net.backward(Net::batch_type{view_of(rows), labels}).sum;
    as_eigen(net.parameters()) -= 0.01 * as_eigen(net.gradients());
    BOOST_TEST(net.loss(Net::batch_type{view_of(rows), labels}).sum < before);
}

BOOST_AUTO_TEST_CASE(a_network_refuses_columns) {
    using Net = Network<Linear<3, 2>, CrossEntropy, double>;
    Net net{5};
    const auto columns = numbered<ByColumns>(7, 3);
    BOOST_CHECK_EXCEPTION(net.forward(view_of(columns)), ShapeError, [](const Error& error) {
        return std::string(error.what()).find("must be neighbours, not 7 elements apart") != std::string::npos;
    });
}

}  // namespace
