// SPDX-License-Identifier: MIT
#include <lockstep/nn/network.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/concepts.hpp>
#include <lockstep/core/digest.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/storage/borrowed.hpp>
#include <lockstep/storage/inline.hpp>
#include <lockstep/storage/shared_memory.hpp>
#include <support/gradient_check.hpp>
#include "support/count_allocations.hpp"

namespace {

using namespace lockstep;

using Architecture = Sequential<Linear<6, 5>, Tanh, Linear<5, 4>, Sigmoid, Linear<4, 3>>;
using Classifier = Network<Architecture, CrossEntropy, double>;
using Regressor = Network<Architecture, MeanSquaredError, double>;

static_assert(Model<Classifier> && RunsBackward<Classifier, Classifier::batch_type>);
static_assert(Model<Network<Architecture, CrossEntropy, float, Inline<Architecture::parameter_count>>>);
static_assert(std::same_as<Classifier::batch_type, Batch<double, std::span<const std::int32_t>>>);
static_assert(Classifier::parameter_count == 35 + 24 + 15);
static_assert(!std::constructible_from<Network<Architecture, CrossEntropy, float, Borrowed>, std::uint64_t>);

constexpr std::size_t rows = 13;

template <class Scalar>
struct Rows {
    std::vector<Scalar> inputs;
    std::vector<Scalar> targets;
    std::vector<std::int32_t> labels;

    explicit Rows(std::size_t count = rows) {
        for (const double value : test::uniform(count * 6, 7)) inputs.push_back(static_cast<Scalar>(value));
        for (const double value : test::uniform(count * 3, 8)) targets.push_back(static_cast<Scalar>(value));
        for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i * i % 3));
    }
    Batch<Scalar, std::span<const std::int32_t>> labelled() const {
        return {{inputs.data(), labels.size(), 6}, labels};
    }
    Batch<Scalar, MatrixView<const Scalar>> valued() const {
        return {{inputs.data(), labels.size(), 6}, {targets.data(), labels.size(), 3}};
    }
};

std::vector<double> copy(std::span<const double> values) { return {values.begin(), values.end()}; }

BOOST_AUTO_TEST_CASE(the_lesson) {
    // y = 2x + 1 at x = 1..4 seen by 0.5x: dw = mean of 2(0.5x - 2x - 1)x = -(3 * 30 + 2 * 10)/4, db
    // likewise.
    Network<Linear<1, 1>, MeanSquaredError, double> net{0};
    net.parameters()[0] = 0.5;
    net.parameters()[1] = 0;
    const std::array<double, 4> inputs{1, 2, 3, 4};
    const std::array<double, 4> targets{3, 5, 7, 9};
    const LossSum loss = net.backward({{inputs.data(), 4, 1}, {targets.data(), 4, 1}});
    BOOST_TEST(loss.weight == 4);
    BOOST_TEST(loss.sum == 2.5 * 2.5 + 4 * 4 + 5.5 * 5.5 + 7 * 7);
    BOOST_TEST(net.gradients()[0] / loss.weight == -27.5);
    BOOST_TEST(net.gradients()[1] / loss.weight == -9.5);
    BOOST_TEST(to_string(net.manifest()[0]) == "weight (1, 1)");
}

BOOST_AUTO_TEST_CASE(gradients_match_central_differences) {
    const Rows<double> data;
    Classifier classifier{5};
    classifier.backward(data.labelled());
    BOOST_TEST(test::gradient_error(classifier.parameters(), classifier.gradients(),
                                    [&] { return classifier.loss(data.labelled()).sum; }) < 1e-7);
    Regressor regressor{5};
    regressor.backward(data.valued());
    BOOST_TEST(test::gradient_error(regressor.parameters(), regressor.gradients(),
                                    [&] { return regressor.loss(data.valued()).sum; }) < 1e-7);
}

BOOST_AUTO_TEST_CASE(the_loss_is_the_same_with_and_without_a_gradient) {
    const Rows<double> data;
    Classifier net{5};
    const LossSum loss = net.backward(data.labelled());
    BOOST_TEST(net.loss(data.labelled()).sum == loss.sum);
    BOOST_TEST(loss.weight == static_cast<double>(rows));
    BOOST_TEST(CrossEntropy::evaluate(net.forward(data.labelled().inputs), data.labels).sum == loss.sum);
}

BOOST_AUTO_TEST_CASE(gradients_accumulate) {
    const Rows<double> data;
    Classifier net{5};
    net.backward(data.labelled());
    const auto once = copy(net.gradients());
    net.backward(data.labelled());
    for (std::size_t i = 0; i < once.size(); ++i) BOOST_TEST(std::abs(net.gradients()[i] - 2 * once[i]) < 1e-12);
    net.zero_grad();
    for (const double gradient : net.gradients()) BOOST_TEST(gradient == 0);
}

BOOST_AUTO_TEST_CASE(gradients_of_shards_add_up_to_that_of_the_batch) {
    const Rows<double> data;
    Classifier whole{5};
    const LossSum expected = whole.backward(data.labelled());
    for (const int world_size : {1, 2, 3, 4, 5, 8, 17}) {
        Classifier parts{5};
        LossSum sum;
        for (int rank = 0; rank < world_size; ++rank) {
            const LossSum part = parts.backward(data.labelled().slice(shard_of(rows, rank, world_size)));
            sum.sum += part.sum;
            sum.weight += part.weight;
        }
        BOOST_TEST(std::abs(sum.sum - expected.sum) < 1e-12);
        BOOST_TEST(sum.weight == expected.weight);
        for (std::size_t i = 0; i < Classifier::parameter_count; ++i) {
            BOOST_TEST(std::abs(parts.gradients()[i] - whole.gradients()[i]) < 1e-12);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_rows_change_nothing) {
    const Rows<double> data;
    Classifier net{5};
    net.backward(data.labelled());
    const auto before = copy(net.gradients());
    const LossSum loss = net.backward(data.labelled().slice({.begin = rows, .size = 0}));
    BOOST_TEST(loss.sum == 0);
    BOOST_TEST(loss.weight == 0);
    BOOST_TEST(net.backward({}).weight == 0);
    BOOST_TEST(net.loss({}).weight == 0);
    BOOST_TEST(net.forward({}).rows == 0U);
    BOOST_TEST(copy(net.gradients()) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_before_anything_is_changed) {
    const Rows<double> data;
    Classifier net{5};
    const auto refuses = [&](Classifier::batch_type batch, const std::string& text) {
        const auto says = [&](const ShapeError& error) { return error.what() == text; };
        BOOST_CHECK_EXCEPTION(net.backward(batch), ShapeError, says);
        BOOST_CHECK_EXCEPTION(net.loss(batch), ShapeError, says);
        for (const double gradient : net.gradients()) BOOST_TEST(gradient == 0);
    };
    const std::vector<std::int32_t> wrong(rows, 3);
    refuses({{data.inputs.data(), rows, 5}, data.labels}, "the network takes rows of 6 inputs, not of 5");
    refuses({{data.inputs.data(), 6, 6, 1, 6}, std::span(data.labels).first(6)},
            "the inputs in a row must be neighbours, not 6 elements apart");
    refuses({{data.inputs.data(), rows, 6}, wrong}, "CrossEntropy: the label of row 0 is 3, outside [0, 3)");
    auto batch = data.labelled();
    batch.inputs.rows = 4;
    refuses(batch, "a batch of 4 input rows and 13 targets");
    BOOST_CHECK_THROW(net.forward({data.inputs.data(), rows, 7}), ShapeError);
}

BOOST_AUTO_TEST_CASE(rows_with_gaps_between_them_are_rows) {
    const Rows<double> data;
    std::vector<double> apart(rows * 9, 1e300);
    for (std::size_t i = 0; i < rows; ++i) std::copy_n(&data.inputs[i * 6], 6, &apart[i * 9]);
    Network<Sequential<Tanh, Architecture>, CrossEntropy, double> net{5};
    const double expected = net.loss(data.labelled()).sum;
    BOOST_TEST(net.loss({{apart.data(), rows, 6, 9, 1}, data.labels}).sum == expected);
}

/// Two steps of training; the digest of all that came out.
template <class Net>
std::string train(Net& net) {
    const Rows<float> data;
    Sgd<float> optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    for (int step = 0; step < 2; ++step) {
        net.zero_grad();
        net.backward(data.labelled());
        optimizer.step(net);
    }
    return hex_digest(std::span<const float>(net.parameters())) + hex_digest(std::span<const float>(net.gradients()));
}

template <class Storage>
using Stored = Network<Architecture, CrossEntropy, float, Storage>;
using Inside = Stored<Inline<Architecture::parameter_count>>;

BOOST_AUTO_TEST_CASE(every_storage_gives_the_same_bits) {
    Stored<Aligned> aligned{3};
    const std::string expected = train(aligned);
    Inside inside{3};
    BOOST_TEST(train(inside) == expected);
    Stored<SharedMemory> shared{3};
    BOOST_TEST(train(shared) == expected);
    std::vector<float> parameters(Architecture::parameter_count);
    std::vector<float> gradients(Architecture::parameter_count);
    Stored<Borrowed> borrowed{Borrowed::buffer<float>(parameters), Borrowed::buffer<float>(gradients)};
    BOOST_TEST(parameters.front() == 0);
    borrowed.initialize(3);
    BOOST_TEST(parameters.front() != 0);
    BOOST_TEST(train(borrowed) == expected);
    BOOST_TEST(borrowed.parameters().data() == parameters.data());
}

BOOST_AUTO_TEST_CASE(arenas_of_another_size_are_refused) {
    std::vector<float> parameters(Architecture::parameter_count);
    std::vector<float> gradients(Architecture::parameter_count - 1);
    BOOST_CHECK_EXCEPTION(Stored<Borrowed>(Borrowed::buffer<float>(parameters), Borrowed::buffer<float>(gradients)),
                          ShapeError, [](const ShapeError& error) {
                              return error.what() == std::string("a network of 74 parameters was given 73 gradients");
                          });
}

template <class Net>
void check_copies_and_moves() {
    Net original{3};
    const std::string untouched = hex_digest(std::span<const float>(original.parameters()));
    Net copied = original;
    const std::string trained = train(copied);
    BOOST_TEST(hex_digest(std::span<const float>(original.parameters())) == untouched);
    Net moved = std::move(original);
    BOOST_TEST(train(moved) == trained);
    Net assigned{4};
    assigned = copied;
    BOOST_TEST(hex_digest(std::span<const float>(assigned.parameters())) ==
               hex_digest(std::span<const float>(copied.parameters())));
    assigned = Net{3};
    BOOST_TEST(train(assigned) == trained);
}

BOOST_AUTO_TEST_CASE(copies_and_moves_are_whole) {
    check_copies_and_moves<Stored<Aligned>>();
    check_copies_and_moves<Inside>();
    check_copies_and_moves<Stored<SharedMemory>>();
}

BOOST_AUTO_TEST_CASE(an_inline_network_lives_in_its_object_wherever_that_is) {
    Inside first{3};
    const Rows<float> data;
    first.backward(data.labelled());
    Inside second = std::move(first);
    const auto inside = [&](const void* address) {
        const auto* const begin = reinterpret_cast<const char*>(&second);
        const auto* const place = static_cast<const char*>(address);
        return place >= begin && place < begin + sizeof second;
    };
    BOOST_TEST(inside(second.parameters().data()));
    BOOST_TEST(inside(second.gradients().data()));
}

BOOST_AUTO_TEST_CASE(copies_of_a_borrowed_network_share_its_memory) {
    std::vector<float> parameters(Architecture::parameter_count);
    std::vector<float> gradients(Architecture::parameter_count);
    Stored<Borrowed> original{Borrowed::buffer<float>(parameters), Borrowed::buffer<float>(gradients)};
    const Stored<Borrowed> copied = original;
    original.initialize(1);
    BOOST_TEST(copied.parameters().data() == parameters.data());
    BOOST_TEST(copied.parameters()[0] == parameters[0]);
}

BOOST_AUTO_TEST_CASE(seeds_name_the_parameters) {
    const Classifier net{9};
    BOOST_TEST(copy(net.parameters()) == copy(Classifier{9}.parameters()), boost::test_tools::per_element());
    BOOST_TEST(copy(net.parameters()) != copy(Classifier{10}.parameters()));
    // The layers with parameters draw from streams 0, 1, 2: here the first weight of the third, in
    // +-1/sqrt(4).
    BOOST_TEST(net.parameters()[35 + 24] == Random(9, lockstep::RandomStreams::first + 2).uniform(-0.5, 0.5));
}

BOOST_AUTO_TEST_CASE(the_manifest_covers_the_arena) {
    std::vector<std::string> names;
    for (const Parameter& parameter : Classifier::manifest()) names.push_back(to_string(parameter));
    const std::vector<std::string> expected{"0.weight (5, 6)", "0.bias (5)",      "2.weight (4, 5)",
                                            "2.bias (4)",      "4.weight (3, 4)", "4.bias (3)"};
    BOOST_TEST(names == expected, boost::test_tools::per_element());
    BOOST_TEST(numel(Classifier::manifest()) == Classifier::parameter_count);
}

BOOST_AUTO_TEST_CASE(after_the_first_step_nothing_is_allocated) {
    const Rows<float> data;
    Stored<Aligned> net{3};
    Sgd<float> optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    const auto step = [&](std::size_t count) {
        const std::size_t before = test::allocations;
        net.zero_grad();
        net.backward(data.labelled().slice({.begin = 0, .size = count}));
        net.loss(data.labelled().slice({.begin = 0, .size = count}));
        optimizer.step(net);
        return test::allocations - before;
    };
    BOOST_TEST(step(8) > 0U);
    BOOST_TEST(step(8) == 0U);
    BOOST_TEST(step(3) == 0U);
    BOOST_TEST(step(13) > 0U);
    BOOST_TEST(step(13) == 0U);
}

BOOST_AUTO_TEST_CASE(training_learns) {
    // Four points that no linear model can tell apart.
    const std::array<float, 8> inputs{0, 0, 0, 1, 1, 0, 1, 1};
    const std::array<std::int32_t, 4> labels{0, 1, 1, 0};
    Network<Sequential<Linear<2, 8>, Tanh, Linear<8, 2>>, CrossEntropy> net{1};
    Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    LossSum loss;
    for (int step = 0; step < 500; ++step) {
        net.zero_grad();
        loss = net.backward({{inputs.data(), 4, 2}, labels});
        optimizer.step(net);
    }
    BOOST_TEST(loss.sum / loss.weight < 0.02);
}

}  // namespace
