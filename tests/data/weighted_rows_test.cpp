// SPDX-License-Identifier: MIT
#include <lockstep/data/weighted_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data/loader.hpp>
#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/network.hpp>

#include "support/count_allocations.hpp"

namespace {

using namespace lockstep;
using Indices = std::vector<std::size_t>;
using Numbers = WeightedDataset<float, Tensor<float>>;

static_assert(Dataset<WeightedDataset<float>> && Dataset<Numbers>);
static_assert(std::same_as<WeightedDataset<double>::batch_type,
                           Network<Linear<2, 2>, Weighted<CrossEntropy>, double>::batch_type>);
static_assert(std::same_as<Numbers::batch_type, Network<Linear<2, 2>, Weighted<MeanSquaredError>>::batch_type>);

Tensor<float> grid(std::size_t rows, std::size_t cols, float offset = 0) {
    Tensor<float> tensor({rows, cols});
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t col = 0; col < cols; ++col) tensor(row, col) = static_cast<float>(10 * row + col) + offset;
    }
    return tensor;
}

BOOST_AUTO_TEST_CASE(a_subset_keeps_targets_and_weights_together) {
    const WeightedDataset<float> dataset(grid(5, 2), {{0, 10, 20, 30, 40}, {0, 0.1F, 0.2F, 0.3F, 0.4F}});
    const auto part = dataset.subset(Indices{4, 0, 3});
    const auto batch = part.batch();
    BOOST_TEST(batch.rows() == 3U);
    BOOST_TEST(batch.inputs(2, 1) == 31);
    BOOST_TEST(batch.targets.targets()[0] == 40);
    BOOST_TEST(batch.targets.weights()[0] == 0.4F);
    BOOST_TEST(batch.slice({2, 1}).targets.targets()[0] == 30);
    BOOST_TEST(batch.slice({2, 1}).targets.weights()[0] == 0.3F);

    Numbers numbers(grid(5, 2), {grid(5, 3, 100), {0, 1, 2, 3, 4}});
    Numbers scratch;
    BOOST_TEST(numbers.gather(Indices{1, 3}, scratch).targets.targets()(1, 2) == 132);
    BOOST_TEST(numbers.gather(Indices{2}, scratch).targets.weights()[0] == 2);
    BOOST_TEST(numbers.subset({}).size() == 0U);
    BOOST_TEST(WeightedDataset<float>().batch().rows() == 0U);
}

BOOST_AUTO_TEST_CASE(numbers_of_rows_targets_and_weights_must_agree) {
    const auto says = [](const std::string& text) {
        return [text](const ShapeError& error) { return error.what() == text; };
    };
    BOOST_CHECK_EXCEPTION(WeightedDataset<float>(grid(3, 2), {{1, 2, 0}, {1, 1}}), ShapeError,
                          says("2 weights for 3 targets"));
    BOOST_CHECK_EXCEPTION(WeightedDataset<float>(grid(3, 2), {{1, 2}, {1, 1}}), ShapeError,
                          says("a batch of 3 input rows and 2 targets"));
}

BOOST_AUTO_TEST_CASE(a_loader_gathers_them_and_allocates_nothing_after_the_first_epoch) {
    const WeightedDataset<float> dataset(grid(5, 2), {{0, 1, 1, 0, 1}, {0, 0.5F, 2, 1, 4}});
    Loader loader{dataset, SequentialSampler{}, 2};
    Network<Linear<2, 2>, Weighted<CrossEntropy>> net{1};
    const auto epoch = [&](std::uint64_t number) {
        double weight = 0;
        for (const auto& batch : loader.epoch(number)) weight += net.backward(batch.all()).weight;
        return weight;
    };
    BOOST_TEST(epoch(0) == 7.5);
    const auto before = test::allocations;
    const double again = epoch(1);
    const auto after = test::allocations;
    BOOST_TEST(again == 7.5);
    BOOST_TEST(after == before);
}

}  // namespace
