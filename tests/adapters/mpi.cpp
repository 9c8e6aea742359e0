// SPDX-License-Identifier: MIT
// Run by mpirun: every process makes the same tests, and holds what its rank saw to a closed form or to threads.
#include <lockstep/adapters/mpi.hpp>
#include <lockstep/adapters/mpi_all_reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#define BOOST_TEST_MODULE lockstep
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/run/threads.hpp>

#include "support/conformance/reducer.hpp"
#include "support/messages.hpp"
#include "support/reducers/every_reducer.hpp"

namespace {

using namespace lockstep;

/// What this rank saw of `work(link)`, after which all ranks meet.
template <class Work>
test::Outcome on_this_rank(const Work& work, const MpiOptions& options = {}) {
    const test::Outcome outcome = test::outcome_of([&] {
        Mpi link(options);
        fail_together(link, [&] { work(link); });
    });
    MPI_Barrier(MPI_COMM_WORLD);
    return outcome;
}
void check_well(const test::Outcome& outcome) { BOOST_TEST(!outcome.threw, outcome.message); }

BOOST_AUTO_TEST_CASE(every_topology_sums_in_every_type) {
    // 64 bytes a message: long ones are in many pieces.
    for (const std::size_t piece : {std::size_t{64}, std::size_t{1} << 20}) {
        check_well(on_this_rank(
            [](Mpi& link) {
                test::for_each_reducer(link, [&](const auto& reducer) {
                    for (const std::size_t length : {0U, 1U, 3U, 7U, 1023U, 20'011U}) {
                        test::expect_reductions<Sum>(reducer, link, length, 0);
                        test::expect_reductions<Min>(reducer, link, length, 1);
                    }
                });
            },
            {.piece_bytes = piece}));
    }
}

BOOST_AUTO_TEST_CASE(messages_and_bytes_are_those_of_the_schedule) {
    check_well(on_this_rank([](Mpi& link) {
        for (const auto& topology : test::every_topology<Mpi>()) {
            std::vector<float> values(10'007, 1.0F);
            const Traffic before = link.traffic();
            topology.all_reduce(link, std::span(values));
            const Counts counts = topology.shape.counts(link.rank(), link.world_size(), values.size());
            test::expect(link.traffic().messages - before.messages == counts.messages_sent, topology.name);
            test::expect(link.traffic().bytes - before.bytes == counts.elements_sent * sizeof(float), topology.name);
        }
    }));
}

BOOST_AUTO_TEST_CASE(the_native_all_reduce_sums) {
    check_well(on_this_rank([](Mpi& link) {
        MpiAllReduce reducer;
        const auto check = [&](auto one) {
            for (const std::size_t length : {0U, 1U, 1023U, 20'011U}) {
                std::vector<decltype(one)> values(length);
                test::fill<Sum>(std::span(values), link.rank(), link.world_size());
                reducer.all_reduce(link, std::span(values));
                test::expect_each(
                    length,
                    [&](std::size_t at) {
                        return values[at] == static_cast<decltype(one)>(test::reduced<Sum>(link.world_size(), at));
                    },
                    "sums");
                test::fill<Max>(std::span(values), link.rank(), link.world_size());
                reducer.all_reduce(link, std::span(values), Max{});
                test::expect_each(
                    length,
                    [&](std::size_t at) {
                        return values[at] == static_cast<decltype(one)>(test::reduced<Max>(link.world_size(), at));
                    },
                    "maxima");
            }
        };
        check(float{});
        check(double{});
        check(std::int32_t{});
        check(std::int64_t{});
    }));
}

// ---- Training ---------------------------------------------------------------------------------------------------

using Net = Network<Sequential<Linear<5, 40>, Tanh, Linear<40, 3>>, CrossEntropy, float>;

/// The parameters after ten steps on batches whose shards are unequal.
template <class Reducer, class Link>
std::vector<float> trained(Link link) {
    DataParallel<Net, Reducer, Link> replica{Net{7}, link};
    Sgd<float> sgd({.learning_rate = 0.1, .momentum = 0.9});
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (std::size_t index = 0; index < 55; ++index) inputs.push_back(static_cast<float>(index * 37 % 101) / 50 - 1);
    for (std::size_t row = 0; row < 11; ++row) labels.push_back(static_cast<std::int32_t>(row * row % 3));
    for (int step = 0; step < 10; ++step) {
        replica.backward(Net::batch_type{MatrixView<const float>(inputs.data(), 11, 5), labels});
        replica.step(sgd);
    }
    const auto parameters = replica.model().parameters();
    return {parameters.begin(), parameters.end()};
}

template <class Shape>
void check_trains_as_threads() {
    std::vector<float> over_mpi;
    int world = 0;
    check_well(on_this_rank([&](Mpi& link) {
        world = link.world_size();
        over_mpi = trained<Shape>(link);
    }));
    std::vector<float> over_threads;
    run_threads(world, [&](Threads link) {
        const auto own = trained<Shape>(link);
        if (link.rank() == 0) over_threads = own;
    });
    BOOST_TEST(test::bits_of(over_mpi) == test::bits_of(over_threads), Shape::name);
}

BOOST_AUTO_TEST_CASE(training_has_the_bits_of_threads_with_every_topology) {
    check_trains_as_threads<Naive>();
    check_trains_as_threads<Tree>();
    check_trains_as_threads<Ring>();
    check_trains_as_threads<RecursiveDoubling>();
    check_trains_as_threads<HalvingDoubling>();
    check_trains_as_threads<Direct>();
    check_trains_as_threads<Circulant>();
    check_trains_as_threads<DoubleTree>();
    check_trains_as_threads<Pipelined<Tree>>();
    check_trains_as_threads<Hierarchical<Ring, Ring, 2>>();
}

BOOST_AUTO_TEST_CASE(training_with_the_native_all_reduce_comes_near) {
    std::vector<float> native;
    std::vector<float> ring;
    check_well(on_this_rank([&](Mpi& link) { native = trained<MpiAllReduce>(link); }));
    check_well(on_this_rank([&](Mpi& link) { ring = trained<Ring>(link); }));
    BOOST_TEST(native == ring, boost::test_tools::tolerance(1e-4F) << boost::test_tools::per_element());
}

// ---- Errors -----------------------------------------------------------------------------------------------------

int size_of_world() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

BOOST_AUTO_TEST_CASE(lengths_that_differ_are_an_error_on_every_rank) {
    if (size_of_world() == 1) return;
    for (const std::size_t length : {10U, 5000U, 500'000U}) {
        // Memory of a call that failed stays where it is.
        static std::vector<std::vector<float>> kept;
        const auto work = [&](auto reducer) {
            return on_this_rank([&](Mpi& link) {
                std::vector<float>& values = kept.emplace_back(length + (link.rank() == 1));
                reducer.all_reduce(link, std::span(values));
            });
        };
        for (const auto& outcome : {work(Executor<Ring>{}), work(Executor<Tree>{}), work(MpiAllReduce{})}) {
            BOOST_TEST(outcome.threw);
            BOOST_TEST((outcome.kind == ErrorKind::shape));
            BOOST_TEST(outcome.message.find("ranks disagree") != std::string::npos, outcome.message);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_one_rank_throws_all_throw) {
    const int last = size_of_world() - 1;
    const auto outcome = on_this_rank([&](Mpi& link) {
        if (link.rank() == last) throw std::runtime_error("disk full");
        std::vector<float> values(100);
        all_reduce<Ring>(link, std::span(values));
    });
    BOOST_TEST(outcome.threw);
    BOOST_TEST(outcome.message.find("disk full") != std::string::npos, outcome.message);
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_come_is_named_in_time) {
    if (size_of_world() == 1) return;
    const auto outcome = on_this_rank(
        [&](Mpi& link) {
            std::vector<float> values(100);
            all_reduce<Ring>(link, std::span(values));
            if (link.rank() != 1) all_reduce<Direct>(link, std::span(values));
            // Rank 1 hears of it where it is: it asks until it does.
            else
                while (true) link.begin({});
        },
        {.timeout = Seconds{0.3}});
    BOOST_TEST(outcome.threw);
    BOOST_TEST((outcome.kind == ErrorKind::timeout));
    // Of more ranks some wait for those that wait for rank 1.
    const int named = outcome.rank;
    BOOST_TEST((size_of_world() == 2 ? named == 1 : named >= 0 && named < size_of_world()));
    const std::string whom = "for rank " + std::to_string(named) + " in all_reduce #1";
    BOOST_TEST(outcome.message.find(whom) != std::string::npos, outcome.message);
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_left_is_lost_at_once) {
    if (size_of_world() == 1) return;
    test::Outcome outcome;
    {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        outcome = on_this_rank([&](Mpi& link) {
            std::vector<float> values(100);
            all_reduce<Ring>(link, std::span(values));
            if (link.rank() != 1) all_reduce<Direct>(link, std::span(values));
        });
        if (rank == 1) return;
    }
    BOOST_TEST(outcome.threw);
    BOOST_TEST((outcome.kind == ErrorKind::peer_lost));
    BOOST_TEST(outcome.rank == 1);
}

BOOST_AUTO_TEST_CASE(pieces_are_checked) {
    for (const std::size_t piece : {std::size_t{0}, std::size_t{100}, std::size_t{1} << 31}) {
        const auto outcome = test::outcome_of([&] { Mpi link({.piece_bytes = piece}); });
        BOOST_TEST((outcome.kind == ErrorKind::configuration));
        BOOST_TEST(outcome.message.find(std::to_string(piece)) != std::string::npos);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const lockstep::MpiSession session(count, arguments);
    return boost::unit_test::unit_test_main(init_unit_test, count, arguments);
}
