// SPDX-License-Identifier: MIT
// Steps whose state is sharded: the bits of replicated ones, with any reducer.
#include <lockstep/data_parallel/sharded_step.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/checkpoint/checkpoint.hpp>
#include <lockstep/collectives/auto.hpp>
#include <lockstep/collectives/fused.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/clip.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/storage/shared_memory.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/shared_memory.hpp"
#include "support/temporary_file.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// Rows of an imagined data set, each a number.
struct Rows {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t rows() const { return count; }
    Rows slice(Shard shard) const { return {first + shard.begin, shard.size}; }
};

/// As many parameters as one wants, each drawn to another place by each row. Rows say nothing of the last fifth.
template <class Memory = Aligned, class OtherMemory = Memory>
struct Cloud {
    using scalar_type = float;
    using batch_type = Rows;
    typename Memory::template buffer<float> slopes;
    typename OtherMemory::template buffer<float> places;
    std::array<std::uint8_t, 2> told{};

    explicit Cloud(std::size_t size) : slopes(size), places(size) {
        for (std::size_t index = 0; index < size; ++index) places.data()[index] = wave(index, 3);
    }
    static float wave(std::size_t index, std::size_t row) {
        return static_cast<float>((index * 7919 + row * 104'729) % 2003) / 640.0F - 1.5F;
    }
    std::span<float> parameters() { return {places.data(), places.size()}; }
    std::span<float> gradients() { return {slopes.data(), slopes.size()}; }
    std::size_t seen() const { return places.size() - places.size() / 5; }
    Manifest manifest() const { return {{"seen", {seen()}}, {"unseen", {places.size() - seen()}}}; }
    std::span<std::uint8_t> used() { return told; }

    LossSum backward(const Rows& rows) {
        LossSum loss;
        told[0] = 1;
        for (std::size_t row = rows.first; row < rows.first + rows.count; ++row) {
            for (std::size_t index = 0; index < seen(); ++index) {
                const float off = parameters()[index] - wave(index, row);
                gradients()[index] += off;
                loss.sum += static_cast<double>(off * off) / 2;
            }
            ++loss.weight;
        }
        return loss;
    }
};

struct Case {
    std::size_t size;
    double clip = 0;
};

/// A step whose state is sharded beside one whose is not: the same bits, the same traffic, as large a state as shards are.
template <class Strategy, class Optimizer, class Net, class Link>
void expect_same_steps(Link& link, const Case& what, bool shards,
                       const typename Optimizer::options_type& options = {}) {
    using Replica = DataParallel<Net, Strategy, Link>;
    // What Auto has measured decides on the order of addition: both are to know the same.
    reducer_of<Strategy> reducer;
    float one = 1;
    reducer.all_reduce(link, std::span(&one, 1));
    Replica whole(Net(what.size), link, reducer);
    Replica sharded(Net(what.size), link, reducer);
    Optimizer everywhere(options);
    Optimizer pieces(options);
    for (std::size_t step = 0; step < 3; ++step) {
        const Rows batch{step * 10, 10};
        const auto bytes = [&] { return link.traffic().bytes; };
        const auto before = bytes();
        whole.accumulate(batch);
        const MeanLoss expected = whole.average();
        const auto between = bytes();
        if (what.clip > 0) clip_gradient_norm(std::span<float>(whole.model().gradients()), what.clip);
        whole.step(everywhere);
        const auto start = bytes();
        sharded.accumulate(batch);
        const MeanLoss loss = sharded.average_and_step(pieces, {.clip_norm = what.clip});
        test::expect(loss.mean == expected.mean && loss.rows == 10, "loss");
        const auto places = whole.model().parameters();
        const auto moved = sharded.model().parameters();
        const float limit = what.clip > 0 ? 2e-6F : 0.0F;
        test::expect_each(
            what.size, [&](std::size_t index) { return std::abs(moved[index] - places[index]) <= limit; },
            "step " + std::to_string(step) + " of " + std::to_string(what.size));
        if (step > 0 && what.clip == 0) test::expect(bytes() - start == between - before, "bytes of an all-reduce");
    }
    if (what.size >= 5) {
        test::expect(sharded.model().parameters()[what.size - 1] == Net::wave(what.size - 1, 3),
                     "what is unused stays");
    }
    const Optimizer gathered = sharded.with_whole_state(pieces);
    test::expect(gathered.state().size() == everywhere.state().size(), "all of the state");
    test::expect_each(
        gathered.state().size(),
        [&](std::size_t index) {
            return std::abs(gathered.state()[index] - everywhere.state()[index]) <= (what.clip > 0 ? 2e-6F : 0.0F);
        },
        "state");
    if (shards && what.size > 100'000) {
        const std::size_t fair = everywhere.state().size() / static_cast<std::size_t>(link.world_size());
        test::expect(pieces.state().size() <= fair + 64, "a share of the state");
    }
}

constexpr std::size_t sizes[] = {1, 7, 200, 260, 5000, 100'003};

template <class Strategy, class Runner, class Memory = Aligned, class OtherMemory = Memory>
void expect_same_steps_everywhere(bool shards) {
    using Net = Cloud<Memory, OtherMemory>;
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (const std::size_t size : sizes) {
                expect_same_steps<Strategy, Adam<float>, Net>(link, {size}, shards);
                expect_same_steps<Strategy, AdamW<float>, Net>(link, {size, 0.5}, shards);
                expect_same_steps<Strategy, Sgd<float>, Net>(link, {size}, shards, {.learning_rate = 0.01});
                expect_same_steps<Strategy, Sgd<float>, Net>(link, {size}, shards,
                                                             {.learning_rate = 0.01, .momentum = 0.9});
            }
        }));
    }
}

using Some = boost::mpl::list<test::OverThreads, test::OverTcp>;
BOOST_AUTO_TEST_CASE_TEMPLATE(ring, Runner, Some) { expect_same_steps_everywhere<Ring, Runner>(true); }
BOOST_AUTO_TEST_CASE_TEMPLATE(tree, Runner, Some) { expect_same_steps_everywhere<Tree, Runner>(false); }
BOOST_AUTO_TEST_CASE_TEMPLATE(naive, Runner, Some) { expect_same_steps_everywhere<Naive, Runner>(false); }
BOOST_AUTO_TEST_CASE_TEMPLATE(double_tree, Runner, Some) { expect_same_steps_everywhere<DoubleTree, Runner>(false); }
BOOST_AUTO_TEST_CASE_TEMPLATE(recursive_doubling, Runner, Some) {
    expect_same_steps_everywhere<RecursiveDoubling, Runner>(false);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(hierarchical, Runner, Some) {
    expect_same_steps_everywhere<Hierarchical<Ring, Ring, 2>, Runner>(false);
}
BOOST_AUTO_TEST_CASE_TEMPLATE(automatic, Runner, Some) {
    expect_same_steps_everywhere<Auto<RecursiveDoubling, Ring>, Runner>(false);
}

BOOST_AUTO_TEST_CASE(fused_between_threads) { expect_same_steps_everywhere<Fused, test::OverThreads>(true); }
BOOST_AUTO_TEST_CASE(fused_between_processes) {
    using Runner = test::OverSharedMemory;
    expect_same_steps_everywhere<Fused, Runner, SharedMemory>(true);
    // What others cannot reach is not sharded, but stepped alike; parameters alone out of reach go over the boards.
    expect_same_steps_everywhere<Fused, Runner, Aligned>(false);
    expect_same_steps_everywhere<Fused, Runner, SharedMemory, Aligned>(true);
    expect_same_steps_everywhere<Fused, Runner, Aligned, SharedMemory>(false);
}

BOOST_AUTO_TEST_CASE(options_that_differ_are_an_error_on_every_rank) {
    const auto outcomes = test::OverThreads::run(3, [](auto& link) {
        DataParallel<Cloud<>, Ring> replica(Cloud<>(100), link);
        Adam<float> adam({.learning_rate = link.rank() == 1 ? 0.1 : 0.2});
        replica.accumulate(Rows{0, 6});
        replica.average_and_step(adam);
    });
    test::check_all_threw(outcomes, "Adam has other options, groups or steps on rank 1 than on rank 0");
}

BOOST_AUTO_TEST_CASE(a_limit_that_makes_no_sense_is_an_error) {
    for (const double limit : {-1.0, std::nan("")}) {
        const auto outcomes = test::OverThreads::run(2, [&](auto& link) {
            DataParallel<Cloud<>, Ring> replica(Cloud<>(100), link);
            Adam<float> adam;
            replica.accumulate(Rows{0, 6});
            replica.average_and_step(adam, {.clip_norm = limit});
        });
        test::check_all_threw(outcomes, "clip_norm");
    }
}

BOOST_AUTO_TEST_CASE(state_of_other_pieces_is_not_taken_for_zero) {
    const auto outcomes = test::OverThreads::run(2, [](auto& link) {
        Adam<float> adam;
        DataParallel<Cloud<>, Ring> ring(Cloud<>(1000), link);
        ring.accumulate(Rows{0, 6});
        ring.average_and_step(adam);
        DataParallel<Cloud<>, Naive> naive(Cloud<>(1000), link);
        naive.accumulate(Rows{0, 6});
        naive.average_and_step(adam);
    });
    test::check_all_threw(outcomes, "with_whole_state");
}

BOOST_AUTO_TEST_CASE(nobody_has_rows_of_weight) {
    test::check_all_well(test::OverThreads::run(3, [](auto& link) {
        DataParallel<Cloud<>, Ring> replica(Cloud<>(100), link);
        Sgd<float> sgd({.learning_rate = 0.1});
        replica.accumulate_shard(Rows{0, 0});
        test::expect(replica.average_and_step(sgd).rows == 0, "no rows");
        test::expect_each(
            100, [&](std::size_t index) { return replica.model().parameters()[index] == Cloud<>::wave(index, 3); },
            "parameters stay");
    }));
}

BOOST_AUTO_TEST_CASE(goes_on_from_a_checkpoint_in_another_world) {
    const test::TemporaryFile file("");
    std::vector<float> expected;
    const auto run = [&](int world, std::size_t first, std::size_t last) {
        test::check_all_well(test::OverThreads::run(world, [&](auto& link) {
            DataParallel<Cloud<>, Ring> replica(Cloud<>(1003), link);
            Adam<float> adam;
            if (first > 0) load_checkpoint(file.path(), replica, adam);
            for (std::size_t step = first; step < last; ++step) {
                replica.accumulate(Rows{step * 10, 10});
                replica.average_and_step(adam);
            }
            Adam<float> whole = replica.with_whole_state(adam);
            if (link.rank() != 0) return;
            save_checkpoint(file.path(), replica, whole);
            const auto places = replica.model().parameters();
            expected.assign(places.begin(), places.end());
        }));
    };
    run(2, 0, 10);
    const std::vector<float> uninterrupted = expected;
    run(2, 0, 5);
    run(2, 5, 10);
    BOOST_TEST(test::bits_of(expected) == test::bits_of(uninterrupted));
    run(2, 0, 5);
    run(3, 5, 10);
    for (std::size_t index = 0; index < expected.size(); ++index) {
        BOOST_TEST(std::abs(expected[index] - uninterrupted[index]) < 1e-4F);
    }
}

}  // namespace
