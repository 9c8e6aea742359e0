// SPDX-License-Identifier: MIT
#include <lockstep/adapters/cblas.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/sgd.hpp>

#include "support/world.hpp"

namespace {

using namespace lockstep;
using kernels::Accumulate;

/// Memory for a matrix in rows, in columns, with room after each line, or with gaps everywhere.
template <class Scalar>
struct Matrix {
    std::vector<Scalar> values;
    MatrixView<Scalar> view;

    Matrix(std::size_t rows, std::size_t cols, int layout, Random& random) : values((rows + 5) * (cols + 5) * 2 + 1) {
        for (Scalar& value : values) value = static_cast<Scalar>(random.uniform(-1, 1));
        const std::size_t between_rows = layout == 0 ? cols : layout == 1 ? 1 : layout == 2 ? cols + 5 : 2 * cols;
        const std::size_t between_cols = layout == 1 ? rows + 5 : layout == 3 ? 2 : 1;
        view = {values.data(), rows, cols, between_rows, between_cols};
    }
};

using Scalars = std::tuple<float, double>;
BOOST_AUTO_TEST_CASE_TEMPLATE(products_are_sums_over_k, Scalar, Scalars) {
    Random random(3, 1);
    const std::vector<std::vector<std::size_t>> shapes{{1, 1, 1},    {2, 3, 4}, {7, 5, 1}, {1, 9, 33}, {33, 1, 8},
                                                       {40, 24, 70}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}};
    for (const auto& shape : shapes) {
        const auto m = shape[0];
        const auto n = shape[1];
        const auto k = shape[2];
        for (int layouts = 0; layouts < 64; ++layouts) {
            const Matrix<Scalar> a(m, k, layouts % 4, random);
            const Matrix<Scalar> b(k, n, layouts / 4 % 4, random);
            for (const Accumulate accumulate : {Accumulate::no, Accumulate::yes}) {
                Matrix<Scalar> c(m, n, layouts / 16, random);
                auto expected = c.values;
                const MatrixView<Scalar> wanted(expected.data(), m, n, c.view.row_stride, c.view.col_stride);
                for (std::size_t row = 0; row < m; ++row) {
                    for (std::size_t col = 0; col < n; ++col) {
                        double sum = accumulate == Accumulate::yes ? static_cast<double>(wanted(row, col)) : 0.0;
                        for (std::size_t at = 0; at < k; ++at) {
                            sum += static_cast<double>(a.view(row, at)) * static_cast<double>(b.view(at, col));
                        }
                        wanted(row, col) = static_cast<Scalar>(sum);
                    }
                }
                CblasGemm::product<Scalar>(a.view, b.view, c.view, accumulate);
                double worst = 0;
                for (std::size_t at = 0; at < expected.size(); ++at) {
                    worst = std::max(worst, std::abs(static_cast<double>(c.values[at] - expected[at])));
                }
                BOOST_TEST(worst < (sizeof(Scalar) == 4 ? 2e-5 : 1e-13),
                           m << "x" << n << "x" << k << " layouts " << layouts << ": off by " << worst);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_an_error) {
    std::vector<float> values(20);
    const MatrixView<float> view(values.data(), 4, 5);
    BOOST_CHECK_THROW(CblasGemm::product<float>(view, view, view), ShapeError);
}

template <class Gemm>
using Net = Network<
    Sequential<Conv2d<Image<1, 8, 8>, 4, 3, 1, 0, Gemm>, Relu, Linear<144, 20, Gemm>, Tanh, Linear<20, 5, Gemm>>,
    CrossEntropy, double>;

/// Losses of 20 steps on eleven rows.
template <class Gemm>
std::vector<double> losses_of(int world) {
    std::vector<double> losses;
    test::check_all_well(test::OverThreads::run(world, [&](auto& link) {
        DataParallel<Net<Gemm>, Ring, std::remove_reference_t<decltype(link)>> replica{Net<Gemm>{3}, link};
        Sgd<double> sgd({.learning_rate = 0.1, .momentum = 0.9});
        std::vector<double> inputs;
        std::vector<std::int32_t> labels;
        for (std::size_t at = 0; at < 11 * 64; ++at) inputs.push_back(static_cast<double>(at * 37 % 101) / 50 - 1);
        for (std::size_t row = 0; row < 11; ++row) labels.push_back(static_cast<std::int32_t>(row * row % 5));
        for (int step = 0; step < 20; ++step) {
            const MeanLoss loss = replica.backward(
                typename Net<Gemm>::batch_type{MatrixView<const double>(inputs.data(), 11, 64), labels});
            replica.step(sgd);
            if (link.rank() == 0) losses.push_back(loss.mean);
        }
    }));
    return losses;
}

BOOST_AUTO_TEST_CASE(layers_train_as_with_our_own_product) {
    const auto expected = losses_of<kernels::OwnGemm>(1);
    BOOST_TEST(expected.back() < expected.front() / 2);
    for (const int world : {1, 2, 3}) {
        BOOST_TEST(losses_of<CblasGemm>(world) == expected, boost::test_tools::tolerance(1e-10)
                                                                << boost::test_tools::per_element());
    }
}

}  // namespace
