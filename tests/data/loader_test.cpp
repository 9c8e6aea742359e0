// SPDX-License-Identifier: MIT
#include <lockstep/data/loader.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/concepts.hpp>
#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/data/shuffled_sampler.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>

#include "support/count_allocations.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;
using Indices = std::vector<std::size_t>;
using FloatLoader = Loader<LabelledDataset<float>, SequentialSampler>;
using Selection = FloatLoader::RowSelection;

static_assert(Sliceable<Selection>, "DataParallel takes batches of a loader");
static_assert(!std::constructible_from<FloatLoader, LabelledDataset<float>, SequentialSampler, std::size_t>,
              "a temporary dataset would not outlive the loader");
static_assert(std::constructible_from<FloatLoader, const LabelledDataset<float>&, SequentialSampler, std::size_t>);

auto says(const std::string& text) {
    return [text](const std::exception& error) {
        BOOST_TEST(error.what() == text);
        return true;
    };
}

/// Row k is (k + 1, -k - 1), its label is k.
LabelledDataset<float> counting(std::size_t rows) {
    Tensor<float> inputs({rows, 2});
    std::vector<std::int32_t> labels;
    for (std::size_t row = 0; row < rows; ++row) {
        inputs(row, 0) = static_cast<float>(row + 1);
        inputs(row, 1) = -inputs(row, 0);
        labels.push_back(static_cast<std::int32_t>(row));
    }
    return {std::move(inputs), std::move(labels)};
}

/// The labels of a gathered batch, after its inputs were found to belong to them.
template <class Rows>
Indices rows_in(const Rows& batch) {
    Indices rows;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
        rows.push_back(static_cast<std::size_t>(batch.targets[row]));
        BOOST_REQUIRE(batch.inputs(row, 0) == static_cast<float>(rows.back() + 1));
        BOOST_REQUIRE(batch.inputs(row, 1) == -static_cast<float>(rows.back() + 1));
    }
    return rows;
}

BOOST_AUTO_TEST_CASE(an_epoch_is_cut_into_batches_and_the_last_is_kept) {
    const auto dataset = counting(10);
    Loader loader{dataset, SequentialSampler{}, 4};
    BOOST_TEST(loader.batches() == 3U);
    BOOST_TEST(loader.batch_size() == 4U);
    std::vector<Indices> batches;
    for (const auto& batch : loader.epoch(0)) batches.push_back(rows_in(batch.all()));
    BOOST_TEST((batches == std::vector<Indices>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));

    Loader whole{dataset, SequentialSampler{}, 5};
    BOOST_TEST(whole.batches() == 2U);
    Loader larger{dataset, SequentialSampler{}, static_cast<std::size_t>(-1)};
    BOOST_TEST(larger.batches() == 1U);
    for (const auto& batch : larger.epoch(0)) BOOST_TEST(batch.rows() == 10U);
}

BOOST_AUTO_TEST_CASE(shuffled_epochs_have_every_row_once) {
    const auto dataset = counting(23);
    Loader loader{dataset, ShuffledSampler{5}, 4};
    std::vector<Indices> orders;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        Indices order;
        for (const auto& batch : loader.epoch(epoch)) {
            const Indices rows = rows_in(batch.all());
            BOOST_TEST(std::equal(rows.begin(), rows.end(), batch.indices().begin(), batch.indices().end()));
            order.insert(order.end(), rows.begin(), rows.end());
        }
        orders.push_back(order);
        std::sort(order.begin(), order.end());
        Indices all(23);
        std::iota(all.begin(), all.end(), std::size_t{0});
        BOOST_TEST((order == all));
    }
    BOOST_TEST((orders[0] != orders[1]));
    BOOST_TEST((orders[1] != orders[2]));
}

BOOST_AUTO_TEST_CASE(shards_of_a_batch_are_the_batch_for_every_world) {
    const auto dataset = counting(23);
    for (const int world : test::worlds) {
        // One loader a rank, as in training.
        std::vector<Indices> together;
        for (int rank = 0; rank < world; ++rank) {
            Loader loader{dataset, ShuffledSampler{5}, 8};
            std::size_t step = 0;
            for (const auto& batch : loader.epoch(2)) {
                if (rank == 0) together.emplace_back();
                const Indices own = rows_in(batch.slice(shard_of(batch.rows(), rank, world)));
                together[step].insert(together[step].end(), own.begin(), own.end());
                ++step;
            }
        }
        Loader loader{dataset, ShuffledSampler{5}, 8};
        const auto epoch = loader.epoch(2);
        BOOST_TEST(epoch.size() == together.size());
        for (std::size_t step = 0; step < epoch.size(); ++step) {
            BOOST_TEST((rows_in(epoch[step].all()) == together[step]));
        }
    }
}

BOOST_AUTO_TEST_CASE(fewer_rows_than_ranks_leave_some_ranks_without) {
    // Trial B04: N = 4, W = 9.
    const auto dataset = counting(4);
    Indices seen;
    for (int rank = 0; rank < 9; ++rank) {
        Loader loader{dataset, SequentialSampler{}, 64};
        for (const auto& batch : loader.epoch(0)) {
            const Indices own = rows_in(batch.slice(shard_of(batch.rows(), rank, 9)));
            BOOST_TEST(own.size() == (rank < 4 ? 1U : 0U));
            seen.insert(seen.end(), own.begin(), own.end());
        }
        BOOST_TEST(loader.shard_epoch(0, rank, 9).size() == 1U);
        BOOST_TEST(loader.shard_epoch(0, rank, 9)[0].rows() == (rank < 4 ? 1U : 0U));
    }
    BOOST_TEST((seen == Indices{0, 1, 2, 3}));
    Loader loader{dataset, SequentialSampler{}, 64};
    BOOST_CHECK_EXCEPTION(loader.shard_epoch(0, 0, 0), ConfigurationError,
                          says("world_size must be at least 1, not 0"));
    BOOST_CHECK_EXCEPTION(loader.shard_epoch(0, 9, 9), ConfigurationError, says("rank 9 is outside a world of size 9"));
}

BOOST_AUTO_TEST_CASE(an_empty_dataset_has_no_batches) {
    const LabelledDataset<float> none;
    Loader loader{none, ShuffledSampler{1}, 4};
    BOOST_TEST(loader.batches() == 0U);
    for (const auto& batch : loader.epoch(0)) BOOST_ERROR("a batch of " << batch.rows() << " rows");
    for (const auto& batch : loader.shard_epoch(0, 1, 2)) BOOST_ERROR("a batch of " << batch.rows() << " rows");
    // A rank without rows among ranks that have some.
    const auto own = loader.shard_epoch(0, {0, 0}, 2);
    BOOST_TEST(own.size() == 2U);
    for (const auto& batch : own) BOOST_TEST(batch.all().rows() == 0U);
}

BOOST_AUTO_TEST_CASE(an_epoch_can_be_entered_in_the_middle) {
    const auto dataset = counting(10);
    Loader loader{dataset, ShuffledSampler{8}, 3};
    Indices rows;
    for (const auto& batch : loader.epoch(1)) rows = rows_in(batch.all());
    Loader resumed{dataset, ShuffledSampler{8}, 3};
    const auto epoch = resumed.epoch(1);
    BOOST_TEST((rows_in(epoch[3].all()) == rows));
    BOOST_TEST(rows.size() == 1U);
    BOOST_TEST(epoch[4].rows() == 0U);
    // Four rows a batch, times this, would wrap to the first row.
    Loader fours{dataset, SequentialSampler{}, 4};
    BOOST_TEST(fours.epoch(0)[std::size_t{1} << 62].rows() == 0U);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_errors) {
    const auto dataset = counting(10);
    BOOST_CHECK_EXCEPTION((Loader{dataset, SequentialSampler{}, 0}), ConfigurationError,
                          says("batch_size must be at least 1, not 0"));
    Loader loader{dataset, SequentialSampler{}, 4};
    const auto epoch = loader.epoch(0);
    const auto batch = epoch[0];
    BOOST_CHECK_EXCEPTION(batch.slice({3, 2}), ShapeError, says("rows 3 to 5 of a batch of 4 rows"));
    BOOST_CHECK_THROW(batch.slice({5, 0}), ShapeError);
    BOOST_CHECK_THROW(batch.slice({2, static_cast<std::size_t>(-1)}), ShapeError);
    BOOST_CHECK_EXCEPTION(loader.shard_epoch(0, {8, 3}, 9), ShapeError, says("rows 8 to 11 of a dataset of 10 rows"));
    BOOST_CHECK_THROW(loader.shard_epoch(0, {2, static_cast<std::size_t>(-1)}, 9), ShapeError);
    BOOST_CHECK_EXCEPTION(loader.shard_epoch(0, {0, 5}, 1), ConfigurationError,
                          says("steps must be at least 2 for a shard of 5 rows in batches of 4, not 1"));
}

struct Wild {
    void fill(std::span<std::size_t> order, std::uint64_t) const {
        std::fill(order.begin(), order.end(), order.size());
    }
};

BOOST_AUTO_TEST_CASE(a_sampler_that_names_rows_beyond_the_data_is_found_out) {
    const auto dataset = counting(10);
    Loader loader{dataset, Wild{}, 4};
    BOOST_CHECK_EXCEPTION(loader.epoch(0)[0].all(), ShapeError, says("row 10 of a dataset of 10 rows"));
}

BOOST_AUTO_TEST_CASE(after_the_first_epoch_nothing_is_allocated) {
    const auto dataset = counting(50);
    Loader loader{dataset, ShuffledSampler{1}, 8};
    const auto run = [&loader](std::uint64_t epoch) {
        std::size_t rows = 0;
        for (const auto& batch : loader.epoch(epoch)) {
            rows += batch.slice(shard_of(batch.rows(), 1, 3)).rows() + batch.all().rows();
        }
        for (const auto& batch : loader.shard_epoch(epoch, 1, 3)) rows += batch.all().rows();
        return rows;
    };
    const std::size_t before = test::allocations;
    const std::size_t first = run(0);
    BOOST_TEST(test::allocations > before);
    const std::size_t after = test::allocations;
    const std::size_t later = run(1) + run(2);
    const std::size_t again = test::allocations;
    BOOST_TEST(again == after);
    BOOST_TEST(later == 2 * first);
}

BOOST_AUTO_TEST_CASE(a_slice_copies_its_own_rows_only) {
    // The first allocation is of what one rank works on, not of the whole batch.
    const auto dataset = counting(1000);
    Loader loader{dataset, SequentialSampler{}, 1000};
    const auto epoch = loader.epoch(0);
    const auto part = epoch[0].slice({990, 10});
    BOOST_TEST((rows_in(part) == Indices{990, 991, 992, 993, 994, 995, 996, 997, 998, 999}));
    const auto rest = epoch[0].slice({0, 5});
    BOOST_TEST(rest.inputs.data == part.inputs.data);
    BOOST_TEST((rows_in(rest) == Indices{0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(targets_may_be_numbers) {
    Tensor<double> inputs({3, 1});
    Tensor<double> targets({3, 2});
    for (int row = 0; row < 3; ++row) {
        inputs(row, 0) = row;
        targets(row, 1) = 10 * row;
    }
    const RegressionDataset<double> dataset(inputs, targets);
    Loader loader{dataset, SequentialSampler{}, 2};
    const auto epoch = loader.epoch(0);
    BOOST_TEST(epoch[0].all().targets(1, 1) == 10);
    BOOST_TEST(epoch[1].all().targets(0, 1) == 20);
    BOOST_TEST(epoch[1].all().targets.rows == 1U);
}

/// Its loss is the sum of the first input over the rows, its gradient the same.
struct Summing {
    using scalar_type = float;
    std::array<float, 1> parameter{};
    std::array<float, 1> gradient{};
    std::span<float> parameters() { return parameter; }
    std::span<float> gradients() { return gradient; }
    Manifest manifest() const { return {{"w", {1}}}; }
    template <class Rows>
    LossSum backward(const Rows& batch) {
        LossSum loss;
        for (std::size_t row = 0; row < batch.rows(); ++row) {
            gradient[0] += batch.inputs(row, 0);
            loss.sum += static_cast<double>(batch.inputs(row, 0));
            loss.weight += 1;
        }
        return loss;
    }
};

BOOST_AUTO_TEST_CASE(ranks_with_fewer_rows_take_as_many_steps) {
    // Trial B03: ten rows, four ranks, blocks of 3, 3, 3, 1, one row a step; x is 1 to 10.
    const auto dataset = counting(10);
    constexpr std::array blocks{Shard{0, 3}, Shard{3, 3}, Shard{6, 3}, Shard{9, 1}};
    const auto outcomes = test::OverThreads::run(4, [&](Threads& link) {
        DataParallel<Summing, Ring, Threads> replica{Summing{}, link};
        Loader loader{dataset, SequentialSampler{}, 1};
        const auto epoch = loader.shard_epoch(0, blocks[static_cast<std::size_t>(link.rank())], loader.batches(3));
        double sum = 0;
        double weight = 0;
        std::vector<double> weights;
        for (const auto& batch : epoch) {
            const MeanLoss loss = replica.backward_shard(batch.all());
            sum += loss.mean * loss.weight;
            weight += loss.weight;
            weights.push_back(loss.weight);
        }
        test::expect(weights == std::vector<double>{4, 3, 3}, "three steps, of 4, 3 and 3 rows");
        test::expect(weight == 10, "ten rows in all");
        test::expect(sum / weight == 5.5, "their mean");
    });
    test::check_all_well(outcomes);
}

BOOST_AUTO_TEST_CASE(data_parallel_takes_global_batches) {
    // Rows 1 to 10 in batches of 4: means 2.5, 6.5 and 9.5, whatever the world.
    const auto dataset = counting(10);
    for (const int world : test::worlds) {
        const auto outcomes = test::OverThreads::run(world, [&](Threads& link) {
            DataParallel<Summing, Ring, Threads> replica{Summing{}, link};
            Loader loader{dataset, SequentialSampler{}, 4};
            std::vector<double> means;
            for (const auto& batch : loader.epoch(0)) {
                means.push_back(replica.backward(batch).mean);
                test::expect(static_cast<double>(replica.model().gradient[0]) == means.back(), "the mean gradient");
            }
            test::expect(means == std::vector<double>{2.5, 6.5, 9.5}, "means of the batches");
        });
        test::check_all_well(outcomes);
    }
}

}  // namespace
