// SPDX-License-Identifier: MIT
#include <lockstep/data_parallel/data_parallel.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/digest.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

using Architecture = Sequential<Linear<4, 5>, Tanh, Linear<5, 3>>;
template <class Scalar>
using Net = Network<Architecture, CrossEntropy, Scalar>;
template <class Scalar, class Strategy, class Link>
using Replica = DataParallel<Net<Scalar>, Strategy, Link>;

/// `count` rows with labels, the same values for every scalar type.
template <class Scalar>
struct Rows {
    std::vector<Scalar> inputs;
    std::vector<std::int32_t> labels;

    explicit Rows(std::size_t count) {
        for (std::size_t index = 0; index < count * 4; ++index) {
            inputs.push_back(static_cast<Scalar>(static_cast<int>(index) * 37 % 101 - 50) / 32);
        }
        for (std::size_t row = 0; row < count; ++row) labels.push_back(static_cast<std::int32_t>(row * row % 3));
    }
    typename Net<Scalar>::batch_type batch() const {
        return {MatrixView<const Scalar>(inputs.data(), labels.size(), 4), labels};
    }
};

/// What one process computes from the whole batch, in double: the reference for every world.
struct Serial {
    std::vector<double> gradient;
    double loss;

    explicit Serial(std::uint64_t seed, std::size_t count) {
        const Net<float> start(seed);
        Net<double> net(seed);
        std::copy(start.parameters().begin(), start.parameters().end(), net.parameters().begin());
        const Rows<double> rows(count);
        loss = net.backward(rows.batch()).sum / static_cast<double>(count);
        for (const double sum : net.gradients()) gradient.push_back(sum / static_cast<double>(count));
    }

    /// The largest difference to `other`, relative to the largest element.
    template <class Scalar>
    double error(std::span<const Scalar> other) const {
        double difference = other.size() == gradient.size() ? 0 : 1;
        double largest = 0;
        for (std::size_t index = 0; index < gradient.size(); ++index) {
            difference = std::max(difference, std::abs(static_cast<double>(other[index]) - gradient[index]));
            largest = std::max(largest, std::abs(gradient[index]));
        }
        return difference / largest;
    }
};

template <class Link>
void expect_serial_gradients(const test::AnyReducer<Link>& reducer, Link& link, std::uint64_t seed) {
    Replica<float, test::AnyReducer<Link>, Link> replica{Net<float>(seed), link, reducer};
    // Longer and shorter than the world; the first again, so that something stale could leak into it.
    for (const std::size_t count : {10U, 3U, 1U, 10U}) {
        const Serial serial(seed, count);
        const Rows<float> rows(count);
        const MeanLoss loss = replica.backward(rows.batch());
        test::expect(loss.weight == static_cast<double>(count), "weight " + std::to_string(loss.weight));
        test::expect(std::abs(loss.mean - serial.loss) <= 1e-6 * serial.loss, "loss " + std::to_string(loss.mean));
        const double error = serial.error(std::span<const float>(replica.model().gradients()));
        test::expect(error <= 1e-6, std::to_string(count) + " rows, " + reducer.name + ": error " +
                                        std::to_string(error * 1e6) + " millionths");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(gradients_and_losses_are_those_of_the_whole_batch, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) { expect_serial_gradients(reducer, link, 7); });
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(double_models_are_as_exact_as_doubles, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [](auto& link) {
            test::for_each_reducer(link, [&](const auto& reducer) {
                Net<double> net(7);
                const Net<float> start(7);
                std::copy(start.parameters().begin(), start.parameters().end(), net.parameters().begin());
                Replica<double, test::ReducerFor<decltype(link)>, std::remove_reference_t<decltype(link)>> replica{
                    std::move(net), link, reducer};
                const Serial serial(7, 10);
                const MeanLoss loss = replica.backward(Rows<double>(10).batch());
                test::expect(std::abs(loss.mean - serial.loss) <= 1e-14 * serial.loss, "loss");
                test::expect(serial.error(std::span<const double>(replica.model().gradients())) <= 1e-14, "gradient");
            });
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(replicas_start_and_stay_with_the_same_bits, Runner, test::Transports) {
    const std::string first = hex_digest<float>(Net<float>(100).parameters());
    for (const int world : test::worlds) {
        test::for_each_reducer<Runner>([&](const auto& reducer) {
            test::PerRank<std::string> started(world);
            test::PerRank<std::string> ended(world);
            test::check_all_well(Runner::run(world, [&](auto& link) {
                const int rank = link.rank();
                Replica<float, test::ReducerFor<decltype(link)>, std::remove_reference_t<decltype(link)>> replica{
                    Net<float>(100 + static_cast<std::uint64_t>(rank)), link, reducer};
                started[rank] = hex_digest<float>(replica.model().parameters());
                Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
                const Rows<float> rows(10);
                for (int step = 0; step < 50; ++step) {
                    replica.backward(rows.batch());
                    optimizer.step(replica.model());
                }
                ended[rank] = hex_digest<float>(replica.model().parameters());
            }));
            BOOST_TEST(started.all_are(first), "some rank did not start with rank 0's parameters");
            BOOST_TEST(ended.all_are(ended[0]), "replicas have drifted apart");
            BOOST_TEST(ended[0] != first);
        });
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_global_batch_is_the_same_as_everybodys_own_slice_of_it, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Replica<float, Ring, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            for (const std::size_t count : {10U, 3U, 1U}) {
                const Rows<float> rows(count);
                const MeanLoss whole = replica.backward(rows.batch());
                const auto expected = test::bits_of(replica.model().gradients());
                const MeanLoss own =
                    replica.backward_shard(rows.batch().slice(shard_of(count, link.rank(), link.world_size())));
                test::expect(whole.mean == own.mean && whole.weight == own.weight, "another loss");
                test::expect(test::bits_of(replica.model().gradients()) == expected, "another gradient");
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parts_of_a_batch_accumulate_to_the_whole_with_one_communication, Runner,
                              test::Transports) {
    const Serial serial(7, 10);
    const Rows<float> rows(10);
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Replica<float, Ring, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            const auto batch = rows.batch();
            const auto messages = [&] { return link.traffic().messages; };
            const std::uint64_t before = messages();
            replica.backward(batch);
            const std::uint64_t for_one = messages() - before;
            for (int round = 0; round < 2; ++round) {  // The second begins anew.
                const std::uint64_t start = messages();
                for (const Shard part : {Shard{0, 3}, Shard{3, 1}, Shard{4, 6}}) replica.accumulate(batch.slice(part));
                test::expect(messages() == start, "accumulating is silent");
                const MeanLoss loss = replica.average();
                test::expect(messages() - start == for_one, "one communication");
                test::expect(loss.weight == 10 && std::abs(loss.mean - serial.loss) <= 1e-6 * serial.loss, "loss");
                test::expect(serial.error(std::span<const float>(replica.model().gradients())) <= 1e-6, "gradient");
            }
            // Each rank's own rows, in as many parts as it likes.
            const Shard own = shard_of(10, link.rank(), world);
            for (std::size_t row = own.begin; row < own.end(); ++row) replica.accumulate_shard(batch.slice({row, 1}));
            test::expect(replica.average().weight == 10, "weight of own rows");
            test::expect(serial.error(std::span<const float>(replica.model().gradients())) <= 1e-6, "own rows");
            // Nothing accumulated is nothing learned.
            test::expect(replica.average().weight == 0, "no weight");
            for (const float gradient : replica.model().gradients()) test::expect(gradient == 0, "no gradient");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(evaluation_counts_every_row_once_and_leaves_gradients_alone, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Replica<float, Tree, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            replica.backward(Rows<float>(3).batch());
            const auto gradients = test::bits_of(std::span<const float>(replica.model().gradients()));
            for (const std::size_t count : {1U, 10U}) {
                const MeanLoss loss = replica.evaluate(Rows<float>(count).batch());
                const double expected = Serial(7, count).loss;
                test::expect(loss.weight == static_cast<double>(count), "each row once");
                test::expect(std::abs(loss.mean - expected) <= 1e-6 * expected, "loss");
            }
            test::expect(gradients == test::bits_of(std::span<const float>(replica.model().gradients())), "gradients");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(steps_of_an_optimizer_are_copied_with_its_state, Runner, test::Transports) {
    test::check_all_well(Runner::run(3, [&](auto& link) {
        Replica<float, Tree, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
        Adam<float> optimizer;
        optimizer.reserve(Net<float>::parameter_count);
        if (link.rank() == 0) optimizer.set_steps(41);
        replica.synchronize(optimizer);
        test::expect(optimizer.steps() == 41, "steps");
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_step_without_any_rows_has_weight_0_and_gradients_0, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Replica<float, Ring, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            replica.backward(Rows<float>(10).batch());
            const MeanLoss loss = replica.backward_shard(Rows<float>(0).batch());
            test::expect(loss.weight == 0 && loss.mean == 0, "weight " + std::to_string(loss.weight));
            for (const float gradient : replica.model().gradients()) test::expect(gradient == 0, "a gradient");
            // The ranks are still in step.
            test::expect(replica.backward(Rows<float>(3).batch()).weight == 3, "next step");
        }));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_global_batch_without_rows_is_an_error_on_all_ranks, Runner, test::Transports) {
    for (const int world : test::worlds) {
        const auto outcomes = Runner::run(world, [](auto& link) {
            Replica<float, Ring, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            replica.backward(Rows<float>(0).batch());
        });
        test::check_all_threw(outcomes, "the global batch has no rows");
        for (const auto& outcome : outcomes) BOOST_TEST((outcome.kind == ErrorKind::shape));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(optimizer_state_is_copied_from_rank_0, Runner, test::Transports) {
    const Rows<float> rows(10);
    for (const int world : test::worlds) {
        test::PerRank<std::vector<std::uint32_t>> states(world);
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Replica<float, Tree, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
            optimizer.reserve(Net<float>::parameter_count);
            for (float& velocity : optimizer.state()) velocity = static_cast<float>(link.rank()) + 0.5F;
            replica.synchronize(optimizer);
            states[link.rank()] = test::bits_of(optimizer.state());
        }));
        BOOST_TEST(states.all_are(std::vector<std::uint32_t>(Net<float>::parameter_count, 0x3F000000)));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(states_of_other_sizes_are_an_error_on_all_ranks, Runner, test::Transports) {
    const auto outcomes = Runner::run(3, [&](auto& link) {
        Replica<float, Tree, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
        Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
        if (link.rank() == 1) optimizer.reserve(Net<float>::parameter_count);
        replica.synchronize(optimizer);
    });
    test::check_all_threw(outcomes, "43 float32");
    test::check_all_threw(outcomes, "0 float32");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_one_rank_throws_all_ranks_throw_and_no_parameter_has_changed, Runner,
                              test::Transports) {
    for (const int world : test::worlds) {
        test::PerRank<std::string> before(world);
        test::PerRank<std::string> after(world);
        const int thrower = world - 1;
        const auto outcomes = Runner::run(world, [&](auto& link) {
            Replica<float, Ring, std::remove_reference_t<decltype(link)>> replica{Net<float>(7), link};
            before[link.rank()] = hex_digest<float>(replica.model().parameters());
            Rows<float> rows(10);
            if (link.rank() == thrower) rows.labels.back() = 3;  // Row 9 is in the last rank's shard.
            const auto outcome = test::outcome_of([&] {
                barrier(link);  // All have been constructed.
                replica.backward(rows.batch());
            });
            after[link.rank()] = hex_digest<float>(replica.model().parameters());
            test::expect(!outcome.threw, outcome.message);
        });
        test::check_all_threw(outcomes, "is 3, outside [0, 3)");
        BOOST_TEST(after.all_are(before[0]));
    }
}

BOOST_AUTO_TEST_CASE(a_replica_knows_its_place) {
    Replica<float, Ring, Solo> replica{Net<float>(7), Solo()};
    BOOST_TEST((replica.rank() == 0 && replica.world_size() == 1));
    BOOST_TEST(replica.transport().traffic().messages == 0U);
    const auto& constant = replica;
    BOOST_TEST(constant.model().parameters().size() == 43U);
    BOOST_TEST(replica.backward(Rows<float>(3).batch()).weight == 3);
}

}  // namespace
