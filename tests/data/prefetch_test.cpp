// SPDX-License-Identifier: MIT
#include <lockstep/data/prefetch.hpp>

#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data/shuffled_sampler.hpp>

#include "support/count_allocations.hpp"
#include "support/messages.hpp"

namespace {

using namespace lockstep;

LabelledDataset<float> numbered(std::size_t rows) {
    Tensor<float> inputs({rows, 2});
    std::vector<std::int32_t> labels;
    for (std::size_t row = 0; row < rows; ++row) {
        inputs(row, 0) = static_cast<float>(row);
        inputs(row, 1) = static_cast<float>(2 * row);
        labels.push_back(static_cast<std::int32_t>(row % 10));
    }
    return {std::move(inputs), std::move(labels)};
}

/// Its row 5 cannot be read.
struct Torn {
    using scratch_type = LabelledDataset<float>;
    LabelledDataset<float> whole = numbered(8);
    std::thread::id* reader = nullptr;

    std::size_t size() const { return whole.size(); }
    auto gather(std::span<const std::size_t> rows, scratch_type& scratch) const {
        if (reader != nullptr) *reader = std::this_thread::get_id();
        for (const std::size_t row : rows) {
            if (row == 5) throw std::out_of_range("row 5 is torn");
        }
        return whole.gather(rows, scratch);
    }
};

struct InOrder {
    void fill(std::span<std::size_t> order, std::uint64_t) const {
        for (std::size_t row = 0; row < order.size(); ++row) order[row] = row;
    }
};

BOOST_AUTO_TEST_CASE(batches_are_those_of_the_loader) {
    const auto dataset = numbered(23);
    for (const int world_size : {1, 2, 3, 4, 5, 8}) {
        for (int rank = 0; rank < world_size; ++rank) {
            Loader loader{dataset, ShuffledSampler{3}, 6};
            Prefetcher prefetched{dataset, ShuffledSampler{3}, 6, rank, world_size};
            for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
                const auto expected = loader.epoch(epoch);
                BOOST_REQUIRE(prefetched.epoch(epoch).size() == expected.size());
                std::size_t step = 0;
                for (const auto& batch : prefetched.epoch(epoch)) {
                    const auto plain = expected[step++];
                    BOOST_TEST(batch.indices() == plain.indices(), boost::test_tools::per_element());
                    const Shard own = shard_of(batch.rows(), rank, world_size);
                    for (const Shard part : {own, Shard{0, batch.rows()}, Shard{batch.rows(), 0}}) {
                        const auto rows = batch.slice(part);
                        BOOST_REQUIRE(rows.rows() == part.size);
                        for (std::size_t row = 0; row < part.size; ++row) {
                            BOOST_REQUIRE(rows.inputs(row, 1) ==
                                          2 * static_cast<float>(plain.indices()[part.begin + row]));
                        }
                    }
                }
                BOOST_TEST(step == expected.size());
            }
        }
    }
    const auto empty = numbered(0);
    Prefetcher nothing{empty, InOrder{}, 4};
    BOOST_TEST(nothing.batches() == 0U);
    for (const auto& batch : nothing.epoch(0)) BOOST_ERROR(batch.rows());
}

BOOST_AUTO_TEST_CASE(an_epoch_can_be_left_and_entered_in_the_middle) {
    const auto dataset = numbered(20);
    Prefetcher batches{dataset, InOrder{}, 3};
    for (const auto& batch : batches.epoch(0)) {
        if (batch.indices()[0] == 6) break;
    }
    const auto again = batches.epoch(1);
    auto step = again.begin_at(5);
    BOOST_TEST((*step).all().inputs(0, 0) == 15.0F);
    ++step;
    BOOST_TEST((*step).rows() == 2U);
    ++step;
    BOOST_TEST((step == again.end()));
    BOOST_TEST((again.begin_at(7) == again.end()));
    test::check_error(test::outcome_of([&] { (*again.begin()).slice({2, 2}); }), ErrorKind::shape, {"rows 2 to 4"});
}

BOOST_AUTO_TEST_CASE(another_thread_reads_and_what_it_throws_arrives) {
    std::thread::id reader{};
    Torn dataset;
    dataset.reader = &reader;
    Prefetcher batches{dataset, InOrder{}, 2};
    for (int time = 0; time < 2; ++time) {
        std::size_t reached = 0;
        const auto walk = [&] {
            for (const auto& batch : batches.epoch(0)) reached += batch.rows();
        };
        BOOST_CHECK_EXCEPTION(walk(), std::out_of_range,
                              [](const std::exception& error) { return std::string(error.what()) == "row 5 is torn"; });
        BOOST_TEST(reached == 4U);
    }
    BOOST_TEST((reader != std::this_thread::get_id()));
    // What fails after the loop was left fails nobody.
    for (const auto& batch : batches.epoch(0)) {
        if (batch.indices()[0] == 2) break;
    }
    BOOST_TEST((*batches.epoch(1).begin()).rows() == 2U);
}

BOOST_AUTO_TEST_CASE(once_warm_nothing_is_allocated) {
    const auto dataset = numbered(64);
    Prefetcher batches{dataset, ShuffledSampler{1}, 8, 1, 2};
    float sum = 0;
    const auto walk = [&](std::uint64_t epoch) {
        for (const auto& batch : batches.epoch(epoch)) sum += batch.slice({4, 4}).inputs(0, 0);
    };
    walk(0);
    const std::size_t before = test::allocations;
    walk(1);
    BOOST_TEST(test::allocations == before);
    BOOST_TEST(sum > 0);
}

BOOST_AUTO_TEST_CASE(bad_sizes_are_named) {
    const auto dataset = numbered(4);
    test::check_error(test::outcome_of([&] { Prefetcher(dataset, InOrder{}, 0); }), ErrorKind::configuration,
                      {"batch_size must be at least 1"});
    test::check_error(test::outcome_of([&] { Prefetcher(dataset, InOrder{}, 1, 2, 2); }), ErrorKind::configuration,
                      {"rank 2 is outside a world of size 2"});
}

}  // namespace
