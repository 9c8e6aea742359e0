// SPDX-License-Identifier: MIT
#include <lockstep/data/dataset.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

static_assert(lockstep::Dataset<lockstep::LabelledDataset<float>> &&
              lockstep::Dataset<lockstep::RegressionDataset<double>>);

using namespace lockstep;
using Scalars = boost::mpl::list<float, double>;
using Indices = std::vector<std::size_t>;

static_assert(Dataset<LabelledDataset<double>> && Dataset<RegressionDataset<float>>);
static_assert(std::same_as<LabelledDataset<float>::batch_type, Batch<float, std::span<const std::int32_t>>>);
static_assert(std::same_as<RegressionDataset<double>::batch_type, Batch<double, MatrixView<const double>>>);

/// The smallest dataset: row k is the number k.
struct Counting {
    struct scratch_type {
        Indices rows;
    };
    struct View {
        std::span<const std::size_t> numbers;
        std::size_t rows() const { return numbers.size(); }
    };
    std::size_t count;
    std::size_t size() const { return count; }
    View gather(std::span<const std::size_t> rows, scratch_type& scratch) const {
        scratch.rows.assign(rows.begin(), rows.end());
        return {scratch.rows};
    }
};
struct Sizeless : Counting {
    std::size_t size() const = delete;
};
static_assert(Dataset<Counting> && !Dataset<Sizeless> && !Dataset<int>);

auto says(const std::string& text) {
    return [text](const std::exception& error) { return std::string(error.what()) == text; };
}

/// `rows` rows of `cols` numbers; element (i, j) is 10 i + j + `offset`.
template <class Scalar>
Tensor<Scalar> grid(std::size_t rows, std::size_t cols, Scalar offset = 0) {
    Tensor<Scalar> tensor({rows, cols});
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t col = 0; col < cols; ++col) tensor(row, col) = static_cast<Scalar>(10 * row + col) + offset;
    }
    return tensor;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_batch_views_all_rows, Scalar, Scalars) {
    const LabelledDataset<Scalar> dataset(grid<Scalar>(3, 2), {5, 6, 7});
    BOOST_TEST(dataset.size() == 3U);
    BOOST_TEST(dataset.features() == 2U);
    const auto batch = dataset.batch();
    BOOST_TEST(batch.rows() == 3U);
    BOOST_TEST(batch.inputs(2, 1) == 21);
    BOOST_TEST(batch.targets[2] == 7);
    BOOST_TEST(dataset.batch().inputs.data == batch.inputs.data);

    const RegressionDataset<Scalar> numbers(grid<Scalar>(3, 2), grid<Scalar>(3, 4, 100));
    BOOST_TEST(numbers.batch().targets(1, 3) == 113);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_subset_has_these_rows_in_this_order, Scalar, Scalars) {
    const LabelledDataset<Scalar> dataset(grid<Scalar>(5, 2), {0, 10, 20, 30, 40});
    auto part = dataset.subset(Indices{4, 0, 4});
    BOOST_TEST(part.size() == 3U);
    for (const std::size_t row : {0U, 1U, 2U}) {
        BOOST_TEST(part.batch().inputs(row, 0) == (row == 1 ? 0 : 40));
        BOOST_TEST(part.batch().inputs(row, 1) == (row == 1 ? 1 : 41));
        BOOST_TEST(part.batch().targets[row] == (row == 1 ? 0 : 40));
    }
    part.scale(2);
    BOOST_TEST(part.batch().inputs(0, 1) == 82);
    BOOST_TEST(dataset.batch().inputs(4, 1) == 41);
    BOOST_TEST(dataset.subset({}).size() == 0U);

    const RegressionDataset<Scalar> numbers(grid<Scalar>(5, 2), grid<Scalar>(5, 3, 100));
    const auto two = numbers.subset(Indices{3, 1});
    BOOST_TEST(two.size() == 2U);
    BOOST_TEST(two.batch().inputs(1, 1) == 11);
    BOOST_TEST(two.batch().targets(0, 2) == 132);
    BOOST_TEST(two.batch().targets.rows == 2U);
}

BOOST_AUTO_TEST_CASE(a_row_that_does_not_exist_is_an_error) {
    const LabelledDataset<float> dataset(grid<float>(5, 2), {0, 1, 2, 3, 4});
    BOOST_CHECK_EXCEPTION(dataset.subset(Indices{4, 5}), ShapeError, says("row 5 of a dataset of 5 rows"));
    BOOST_CHECK_THROW(dataset.subset(Indices{static_cast<std::size_t>(-1)}), ShapeError);
    BOOST_CHECK_THROW(LabelledDataset<float>().subset(Indices{0}), ShapeError);
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_match_are_refused) {
    BOOST_CHECK_EXCEPTION(LabelledDataset<float>(grid<float>(3, 2), {1, 2}), ShapeError,
                          says("a batch of 3 input rows and 2 targets"));
    BOOST_CHECK_EXCEPTION(RegressionDataset<float>(grid<float>(3, 2), grid<float>(4, 1)), ShapeError,
                          says("a batch of 3 input rows and 4 targets"));
}

BOOST_AUTO_TEST_CASE(gathering_reuses_its_scratch) {
    const LabelledDataset<float> dataset(grid<float>(5, 2), {0, 1, 2, 3, 4});
    LabelledDataset<float> scratch;
    const auto first = dataset.gather(Indices{0, 1, 2}, scratch);
    const auto second = dataset.gather(Indices{4}, scratch);
    BOOST_TEST(second.inputs.data == first.inputs.data);
    BOOST_TEST(second.rows() == 1U);
    BOOST_TEST(second.targets.size() == 1U);
    BOOST_TEST(second.targets[0] == 4);
    BOOST_TEST(dataset.gather({}, scratch).rows() == 0U);
    BOOST_TEST(dataset.gather(Indices{1, 2, 3, 4}, scratch).inputs(3, 1) == 41);
}

BOOST_AUTO_TEST_CASE(scratch_of_another_shape_is_replaced) {
    RegressionDataset<float> scratch;
    const RegressionDataset<float> narrow(grid<float>(5, 2), grid<float>(5, 1));
    const RegressionDataset<float> wide(grid<float>(5, 2), grid<float>(5, 3, 100));
    const RegressionDataset<float> wider(grid<float>(5, 4), grid<float>(5, 3, 100));
    narrow.gather(Indices{0, 1, 2}, scratch);
    const auto gathered = wide.gather(Indices{4}, scratch);
    BOOST_TEST(gathered.targets.cols == 3U);
    BOOST_TEST(gathered.targets(0, 2) == 142);
    const auto widest = wider.gather(Indices{3}, scratch);
    BOOST_TEST(widest.inputs.cols == 4U);
    BOOST_TEST(widest.inputs(0, 3) == 33);
}

BOOST_AUTO_TEST_CASE(inputs_may_have_more_axes) {
    Tensor<float> images({3, 2, 2});
    std::iota(images.values().begin(), images.values().end(), 0.0F);
    const LabelledDataset<float> dataset(images, {0, 1, 2});
    BOOST_TEST(dataset.features() == 4U);
    const auto part = dataset.subset(Indices{2});
    BOOST_TEST(part.batch().inputs(0, 3) == 11);
    BOOST_TEST(part.features() == 4U);
}

BOOST_AUTO_TEST_CASE(a_dataset_of_nothing_is_whole) {
    const LabelledDataset<float> none;
    BOOST_TEST(none.size() == 0U);
    BOOST_TEST(none.batch().rows() == 0U);
    BOOST_TEST(none.subset({}).size() == 0U);
    const RegressionDataset<double> rowless(Tensor<double>({0, 3}), Tensor<double>({0, 1}));
    BOOST_TEST(rowless.features() == 3U);
    BOOST_TEST(rowless.subset({}).batch().rows() == 0U);
}

}  // namespace
