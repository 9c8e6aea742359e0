// SPDX-License-Identifier: MIT
// Trial B03: an unequal number of steps a rank.
#include <lockstep/data_parallel/uneven.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data/dataset.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/tensor/tensor.hpp>

#include "faults/one_weight.hpp"
#include "support/shared_memory.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;
using Data = RegressionDataset<float>;

/// The loss of a row is its x, and so is its gradient.
struct Echo {
    using scalar_type = float;
    float numbers[2]{};
    std::span<float> parameters() { return std::span(numbers).first(1); }
    std::span<float> gradients() { return std::span(numbers).last(1); }
    Manifest manifest() const { return {{"offset", {1}}}; }

    LossSum backward(const Data::batch_type& batch) {
        double sum = 0;
        for (std::size_t row = 0; row < batch.rows(); ++row) sum += static_cast<double>(batch.inputs(row, 0));
        numbers[1] += static_cast<float>(sum);
        return {sum, static_cast<double>(batch.rows())};
    }
};

/// x = 1, ..., 10.
Data ten_rows() {
    Tensor<float> inputs({10, 1});
    for (std::size_t row = 0; row < 10; ++row) inputs(row, 0) = static_cast<float>(row + 1);
    return {std::move(inputs), Tensor<float>({10, 1})};
}

/// An epoch, one row a rank and step; `epoch_of(loader, rank)` says which rows. Every rank takes part in three steps.
template <class Runner, class EpochOf>
void check_epoch(const EpochOf& epoch_of) {
    const Data data = ten_rows();
    test::for_each_reducer<Runner>([&](const auto& reducer) {
        test::PerRank<int> steps(4);
        test::check_all_well(Runner::run(4, [&](auto& link) {
            test::ReplicaOf<Echo, decltype(link)> replica{Echo{}, link, reducer};
            Loader loader{data, SequentialSampler{}, 1};
            double weight = 0;
            double sum = 0;
            for (const auto& batch : epoch_of(loader, link.rank())) {
                const MeanLoss loss = replica.backward_shard(batch.all());
                test::expect(replica.model().gradients()[0] == static_cast<float>(loss.mean), "gradient");
                weight += loss.weight;
                sum += loss.weight * loss.mean;
                ++steps[link.rank()];
            }
            test::expect(weight == 10, "total weight");
            test::expect(std::abs(sum / weight - 5.5) < 1e-12, "mean of the epoch");
        }));
        BOOST_TEST(steps.all_are(3));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_of_3_3_3_and_1_rows_take_three_steps, Runner, test::EveryTransport) {
    const Shard blocks[] = {{0, 3}, {3, 3}, {6, 3}, {9, 1}};
    check_epoch<Runner>([&](auto& loader, int rank) { return loader.shard_epoch(0, blocks[rank], 3); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(shards_of_3_3_2_and_2_rows_take_three_steps, Runner, test::EveryTransport) {
    check_epoch<Runner>([](auto& loader, int rank) { return loader.shard_epoch(0, rank, 4); });
}

// Nobody knows how many the others have: ranks go on until no rank has any left.
BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_go_on_until_all_are_done, Runner, test::EveryTransport) {
    const Data data = ten_rows();
    const Shard blocks[] = {{0, 1}, {1, 5}, {6, 0}, {6, 4}};
    test::PerRank<int> steps(4);
    test::check_all_well(Runner::run(4, [&](auto& link) {
        DataParallel<Echo, Ring, std::remove_reference_t<decltype(link)>> replica{Echo{}, link};
        Loader loader{data, SequentialSampler{}, 1};
        const Shard own = blocks[link.rank()];
        double sum = 0;
        double rows = 0;
        until_all_are_done(replica, loader.shard_epoch(0, own, own.size), [&](const MeanLoss& loss) {
            sum += loss.mean * loss.weight;
            rows += loss.rows;
            ++steps[link.rank()];
        });
        test::expect(rows == 10 && std::abs(sum - 55) < 1e-4, "every row once");
    }));
    BOOST_TEST(steps.all_are(5));
}

}  // namespace
