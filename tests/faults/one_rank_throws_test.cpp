// SPDX-License-Identifier: MIT
// Trial B26: an exception on one worker.
#include <lockstep/data_parallel/data_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/digest.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/data/sequential_sampler.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/run/processes.hpp>
#include <lockstep/run/threads.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/any_reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

enum class Place { nowhere, loader, forward, loss, backward };
constexpr Place places[] = {Place::loader, Place::forward, Place::loss, Place::backward};

/// Where this rank throws.
thread_local Place trap = Place::nowhere;
void pass(Place place) {
    if (trap == place) throw std::runtime_error("bad row 7");
}

struct Layer : Tanh {
    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& arguments) {
        pass(Place::forward);
        Tanh::forward(arguments);
    }
    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& arguments) {
        pass(Place::backward);
        Tanh::backward(arguments);
    }
};

struct Loss : MeanSquaredError {
    template <class Scalar>
    static LossSum backward(MatrixView<const std::type_identity_t<Scalar>> outputs,
                            MatrixView<const std::type_identity_t<Scalar>> targets, MatrixView<Scalar> gradient) {
        pass(Place::loss);
        return MeanSquaredError::backward(outputs, targets, gradient);
    }
};

struct Data {
    using scratch_type = RegressionDataset<float>;
    RegressionDataset<float> rows;

    std::size_t size() const noexcept { return rows.size(); }
    auto gather(std::span<const std::size_t> indices, scratch_type& scratch) const {
        pass(Place::loader);
        return rows.gather(indices, scratch);
    }
};

Data numbers() {
    Tensor<float> inputs({40, 2});
    Tensor<float> targets({40, 1});
    for (std::size_t row = 0; row < 40; ++row) {
        inputs(row, 0) = static_cast<float>(row % 7) / 7;
        inputs(row, 1) = static_cast<float>(row % 5) / 5;
        targets(row, 0) = inputs(row, 0) - inputs(row, 1);
    }
    return {{std::move(inputs), std::move(targets)}};
}

using Net = Network<Sequential<Linear<2, 3>, Layer, Linear<3, 1>>, Loss>;

/// Five steps, in the third of which some ranks throw. A rank whose weights have changed in that step says so.
template <class Reducer, class Link>
void train(const Reducer& reducer, Link& link, Place place, bool throws) {
    const Data data = numbers();
    Loader loader{data, SequentialSampler{}, 8};
    DataParallel<Net, Reducer, Link> replica{Net(1), link, reducer};
    Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    trap = Place::nowhere;
    int step = 0;
    for (const auto& batch : loader.epoch(0)) {
        if (++step == 3 && throws) trap = place;
        const std::string before = hex_digest<float>(replica.model().parameters());
        try {
            replica.backward(batch);
        } catch (...) {
            if (hex_digest<float>(replica.model().parameters()) != before) throw std::logic_error("weights changed");
            // Another rank may still be in the step before, whose last messages the failure has overtaken.
            if (step < 2 || step > 3) throw std::logic_error("failed in step " + std::to_string(step));
            throw;
        }
        optimizer.step(replica.model());
    }
}

template <class Run>
std::string error_of(const Run& run) {
    try {
        run();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "no exception";
}
bool ends_with_the_text(const std::string& message) { return message.ends_with("bad row 7"); }

BOOST_AUTO_TEST_CASE(threads_are_released_and_the_message_is_kept) {
    for (const Place place : places) {
        test::for_each_reducer<test::OverThreads>([&](const auto& reducer) {
            const std::string message =
                error_of([&] { run_threads(4, [&](Threads link) { train(reducer, link, place, link.rank() == 1); }); });
            BOOST_TEST(ends_with_the_text(message), message);
        });
    }
}

BOOST_AUTO_TEST_CASE(two_threads_may_throw_at_once) {
    for (const Place place : places) {
        const std::string message = error_of(
            [&] { run_threads(4, [&](Threads link) { train(Executor<Ring>(), link, place, link.rank() % 2 == 1); }); });
        BOOST_TEST(ends_with_the_text(message), message);
    }
}

void check_processes(LocalSockets sockets, bool two) {
    for (const Place place : places) {
        test::for_each_reducer<test::OverUnix>([&](const auto& reducer) {
            const std::string message = error_of([&] {
                run_processes(
                    4,
                    [&](Sockets link) { train(reducer, link, place, link.rank() == 1 || (two && link.rank() == 3)); },
                    {.sockets = sockets, .timeout = Seconds{10}});
            });
            BOOST_TEST(ends_with_the_text(message), message);
        });
    }
}

BOOST_AUTO_TEST_CASE(processes_are_released_and_the_message_is_kept) {
    check_processes(LocalSockets::unix_domain, false);
    check_processes(LocalSockets::tcp, false);
}

BOOST_AUTO_TEST_CASE(two_processes_may_throw_at_once) { check_processes(LocalSockets::unix_domain, true); }

BOOST_AUTO_TEST_CASE(without_an_exception_all_goes_well) {
    BOOST_CHECK_NO_THROW(run_threads(4, [](Threads link) { train(Executor<Ring>(), link, Place::loss, false); }));
}

}  // namespace
