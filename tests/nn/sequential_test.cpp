// SPDX-License-Identifier: MIT
#include <lockstep/nn/sequential.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <support/gradient_check.hpp>

namespace {

using namespace lockstep;

/// x^2, which keeps 2x for its backward: a layer with something to remember, and of another kind than ours.
struct Square {
    static constexpr std::size_t input_size = any_size;
    static constexpr std::size_t parameter_count = 0;
    static constexpr std::size_t output_size(std::size_t size) { return size; }
    static constexpr std::size_t workspace_size(std::size_t rows, std::size_t size) { return rows * size; }

    template <class Scalar>
    static void initialize(std::span<Scalar>, RandomStreams&) {}
    static void describe(const std::string&, Manifest&) {}

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        for (std::size_t i = 0; i < pass.input.numel(); ++i) {
            pass.workspace[i] = 2 * pass.input.data[i];
            pass.output.data[i] = pass.input.data[i] * pass.input.data[i];
        }
    }
    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        BOOST_TEST(pass.workspace.size() == pass.input.numel());
        if (!pass.wants_input_gradient()) return;
        for (std::size_t i = 0; i < pass.input.numel(); ++i) {
            pass.input_gradient.data[i] = pass.output_gradient.data[i] * pass.workspace[i];
        }
    }
};

/// A layer that must not be asked for gradients that nobody wants.
template <bool Wanted>
struct Watched : Square {
    static inline int calls = 0;
    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) {
        ++calls;
        BOOST_TEST(pass.wants_input_gradient() == Wanted);
        Square::backward(pass);
    }
};

using Small = Sequential<Linear<3, 5>, Tanh, Linear<5, 2>>;
static_assert(Small::input_size == 3 && Small::output_size(3) == 2);
static_assert(Small::parameter_count == 3 * 5 + 5 + 5 * 2 + 2);
static_assert(Sequential<Relu, Square, Linear<4, 2>, Tanh>::input_size == 4);
static_assert(Sequential<Relu, Tanh>::input_size == any_size && Sequential<Relu, Tanh>::output_size(9) == 9);
static_assert(Sequential<Tanh, Sequential<Sequential<Linear<4, 3>>, Relu>>::input_size == 4);

BOOST_AUTO_TEST_CASE(output_by_hand) {
    const std::array<double, 4> parameters{2, 1, -3, 0.5};  // x -> 2x + 1 -> max(., 0) -> -3x + 0.5
    const std::array<double, 2> input{-4, 3};
    std::array<double, 2> output{};
    using Layer = Sequential<Linear<1, 1>, Relu, Linear<1, 1>>;
    std::vector<double> workspace(Layer::workspace_size(2, 1));
    Layer::forward(ForwardPass<double>{.parameters = parameters,
                                       .input = {input.data(), 2, 1},
                                       .output = {output.data(), 2, 1},
                                       .workspace = workspace});
    BOOST_TEST(output == (std::array<double, 2>{0.5, -20.5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradients_match_central_differences) {
    BOOST_TEST(test::layer_error<Sequential<Tanh>>(3, 4) < 1e-8);
    BOOST_TEST(test::layer_error<Small>(4, 3) < 1e-8);
    BOOST_TEST((test::layer_error<Sequential<Sigmoid, Linear<4, 3>, Tanh>>(5, 4) < 1e-8));
    BOOST_TEST((test::layer_error<Sequential<Square, Linear<3, 6>, Square, Tanh, Linear<6, 4>, Square>>(3, 3) < 1e-8));
    BOOST_TEST((test::layer_error<Sequential<Linear<3, 4>, Sequential<Square, Sequential<Linear<4, 4>, Square>>,
                                             Sequential<Linear<4, 2>>>>(17, 3) < 1e-8));
}

BOOST_AUTO_TEST_CASE(nesting_changes_names_only) {
    using Flat = Sequential<Linear<3, 4>, Tanh, Linear<4, 2>, Square>;
    using Nested = Sequential<Linear<3, 4>, Sequential<Tanh, Sequential<Linear<4, 2>>>, Square>;
    static_assert(Flat::parameter_count == Nested::parameter_count);
    std::vector<double> flat(Flat::parameter_count);
    std::vector<double> nested(Flat::parameter_count);
    RandomStreams flat_streams(3);
    RandomStreams nested_streams(3);
    Flat::initialize(std::span(flat), flat_streams);
    Nested::initialize(std::span(nested), nested_streams);
    BOOST_TEST(flat == nested, boost::test_tools::per_element());
    BOOST_TEST(flat.back() == [] {
        // The last bias of the second Linear: number 4 * 2 + 1 of stream 1, in +-1/sqrt(4).
        Random random(3, RandomStreams::first + 1);
        double value = 0;
        for (int draw = 0; draw < 10; ++draw) value = random.uniform(-0.5, 0.5);
        return value;
    }());

    Manifest manifest;
    Nested::describe("", manifest);
    std::vector<std::string> names;
    for (const Parameter& parameter : manifest) names.push_back(to_string(parameter));
    const std::vector<std::string> expected{"0.weight (4, 3)", "0.bias (4)", "1.1.0.weight (2, 4)", "1.1.0.bias (2)"};
    BOOST_TEST(names == expected, boost::test_tools::per_element());
    BOOST_TEST(numel(manifest) == Nested::parameter_count);
}

/// Backward with nobody to ask for the input gradient.
template <class Layer>
void backward_from_the_start(std::size_t rows) {
    const std::vector<double> parameters(Layer::parameter_count, 1);
    std::vector<double> gradients(Layer::parameter_count);
    const std::vector<double> values(rows * 2, 1);
    std::vector<double> workspace(Layer::workspace_size(rows, 2));
    Layer::backward(BackwardPass<double>{.parameters = parameters,
                                         .input = {values.data(), rows, 2},
                                         .output = {values.data(), rows, 2},
                                         .output_gradient = {values.data(), rows, 2},
                                         .input_gradient = {},
                                         .parameter_gradients = gradients,
                                         .workspace = workspace});
}

BOOST_AUTO_TEST_CASE(gradients_that_nobody_wants_are_not_computed) {
    // Before the first parameters nothing runs; after them everything is wanted.
    backward_from_the_start<Sequential<Watched<false>, Linear<2, 2>, Watched<true>>>(3);
    BOOST_TEST(Watched<false>::calls == 0);
    BOOST_TEST(Watched<true>::calls == 1);
    backward_from_the_start<Sequential<Watched<false>, Sequential<Watched<false>, Linear<2, 2>>, Watched<true>>>(3);
    BOOST_TEST(Watched<false>::calls == 0);
    BOOST_TEST(Watched<true>::calls == 2);
}

}  // namespace
