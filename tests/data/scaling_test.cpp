// SPDX-License-Identifier: MIT
#include <lockstep/data/scaling.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data/dataset.hpp>

#include "support/messages.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(columns_get_mean_0_and_deviation_1) {
    // 1 2 3 4 5 has variance 2 by its closed form (n^2 - 1) / 12; the second column is constant; the third is far away.
    LabelledDataset<double> train(Tensor<double>({5, 3}), {0, 0, 0, 0, 0});
    for (std::size_t row = 0; row < 5; ++row) {
        const auto step = static_cast<double>(row);
        train.inputs()(row, 0) = step + 1;
        train.inputs()(row, 1) = 7;
        train.inputs()(row, 2) = 1e9 + step;
    }
    const StandardScaling scaling = StandardScaling::of(train.inputs());
    BOOST_TEST(scaling.means() == (std::vector<double>{3, 7, 1e9 + 2}), boost::test_tools::per_element());
    BOOST_TEST(scaling.deviations()[0] == std::sqrt(2.0), boost::test_tools::tolerance(1e-15));
    BOOST_TEST(scaling.deviations()[1] == 1.0);
    BOOST_TEST(scaling.deviations()[2] == std::sqrt(2.0), boost::test_tools::tolerance(1e-6));
    scaling.apply(train.inputs());
    BOOST_TEST(train.inputs()(0, 0) == -std::sqrt(2.0), boost::test_tools::tolerance(1e-15));
    BOOST_TEST(train.inputs()(4, 1) == 0.0);
    scaling.undo(train.inputs());
    BOOST_TEST(train.inputs()(4, 0) == 5.0, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(train.inputs()(4, 1) == 7.0);
    // Other rows are scaled by what the training rows have taught.
    std::vector<float> test{3, 8, 1e9F};
    scaling.apply(MatrixView<float>(test.data(), 1, 3));
    BOOST_TEST(test[0] == 0.0F);
    BOOST_TEST(test[1] == 1.0F);
}

BOOST_AUTO_TEST_CASE(a_constant_column_becomes_zero_whatever_the_constant) {
    // 0.1F has no short form in base 2: a mean from a large sum would miss it, and the difference be scaled up.
    Tensor<float> values({1000, 1});
    for (float& value : values.values()) value = 0.1F;
    const auto scaling = StandardScaling::of(values.matrix());
    BOOST_TEST(scaling.deviations()[0] == 1);
    scaling.apply(values.matrix());
    for (const float value : values.values()) BOOST_TEST(value == 0);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_scaled_is_an_error_that_says_why) {
    std::vector<float> values{1, 2, 3, std::numeric_limits<float>::quiet_NaN()};
    test::check_error(test::outcome_of([&] { StandardScaling::of(MatrixView<float>(values.data(), 2, 2)); }),
                      ErrorKind::configuration, {"row 1, column 1 is"});
    test::check_error(test::outcome_of([&] { StandardScaling::of(MatrixView<float>(values.data(), 0, 2)); }),
                      ErrorKind::shape, {"no rows"});
    const StandardScaling two = StandardScaling::of(MatrixView<float>(values.data(), 1, 2));
    test::check_error(test::outcome_of([&] { two.apply(MatrixView<float>(values.data(), 1, 3)); }), ErrorKind::shape,
                      {"2 columns, not 3"});
    BOOST_TEST(values[0] == 1.0F);
    Tensor<double> huge({2, 1});
    huge(0, 0) = 1e308;
    huge(1, 0) = -1e308;
    test::check_error(test::outcome_of([&] { StandardScaling::of(huge.matrix()); }), ErrorKind::configuration,
                      {"column 0", "too large"});
}

}  // namespace
