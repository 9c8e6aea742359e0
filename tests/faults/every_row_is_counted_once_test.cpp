// SPDX-License-Identifier: MIT
// Trial B05: metrics over uneven shards. Padded to even shards, two rows would count twice.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data_parallel/data_parallel.hpp>

#include "support/any_reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

struct Rows {
    std::span<const int> wrong;  ///< 1 for each row that is taken for another
    std::size_t rows() const { return wrong.size(); }
    Rows slice(Shard shard) const { return {wrong.subspan(shard.begin, shard.size)}; }
};

/// Its loss is the number of errors.
struct Judge {
    using scalar_type = float;
    std::array<float, 1> weight{};
    std::array<float, 1> slope{};

    std::span<float> parameters() { return weight; }
    std::span<float> gradients() { return slope; }
    Manifest manifest() const { return {{"weight", {1}}}; }
    LossSum backward(const Rows& rows) { return loss(rows); }
    LossSum loss(const Rows& rows) const {
        LossSum sum;
        for (const int each : rows.wrong) sum.sum += each;
        sum.weight = static_cast<double>(rows.rows());
        return sum;
    }
};

BOOST_AUTO_TEST_CASE_TEMPLATE(every_row_is_counted_once, Runner, test::Transports) {
    std::vector<int> wrong(10);
    wrong[0] = wrong[1] = 1;
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) {
                DataParallel<Judge, test::ReducerFor<decltype(link)>, std::remove_reference_t<decltype(link)>> replica{
                    Judge{}, link, reducer};
                const MeanLoss errors = replica.evaluate(Rows{wrong});
                test::expect(1 - errors.mean == 0.8, "accuracy by evaluate");
                test::expect(errors.rows == 10 && errors.weight == 10, "rows");
                // The same counted beside the loss.
                const Rows own = Rows{wrong}.slice(shard_of(wrong.size(), link.rank(), link.world_size()));
                std::array<double, 2> counts{Judge{}.loss(own).sum, static_cast<double>(own.rows())};
                replica.sum(counts);
                test::expect(counts[0] == 2 && counts[1] == 10, "counts");
            });
        }));
    }
}

}  // namespace
