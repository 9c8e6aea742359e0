// SPDX-License-Identifier: MIT
#include <lockstep/nn/layer.hpp>

#include <cstddef>
#include <span>
#include <string>

#include <boost/test/unit_test.hpp>

#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

namespace {

using namespace lockstep;

static_assert(Layer<Linear<3, 2>> && Layer<Linear<3, 2>, double>);
static_assert(Layer<Relu> && Layer<Tanh, double> && Layer<Sigmoid>);
static_assert(Layer<Sequential<Linear<3, 2>, Relu>> && Layer<Sequential<Relu>, double>);
static_assert(!Layer<int>);

/// The least that is a layer.
struct Identity {
    static constexpr std::size_t input_size = any_size;
    static constexpr std::size_t parameter_count = 0;
    static constexpr std::size_t output_size(std::size_t size) { return size; }
    static constexpr std::size_t workspace_size(std::size_t, std::size_t) { return 0; }
    static void initialize(std::span<float>, RandomStreams&) {}
    static void describe(const std::string&, Manifest&) {}
    static void forward(const ForwardPass<float>&) {}
    static void backward(const BackwardPass<float>&) {}
};
static_assert(Layer<Identity, float>);
static_assert(!Layer<Identity, double>, "it has no passes over double");

// Each mutilation hides one member; the type is a layer no more.
struct NoInputSize : Identity {
    static void input_size();
};
struct NoOutputSize : Identity {
    static constexpr std::size_t output_size = 1;
};
struct NoParameterCount : Identity {
    static void parameter_count();
};
struct NoWorkspaceSize : Identity {
    static constexpr std::size_t workspace_size = 0;
};
struct NoInitialize : Identity {
    static void initialize();
};
struct NoDescribe : Identity {
    static void describe();
};
struct NoForward : Identity {
    static void forward();
};
struct NoBackward : Identity {
    static void backward();
};
static_assert(!KnowsInputSize<NoInputSize> && !Layer<NoInputSize>);
static_assert(!KnowsOutputSize<NoOutputSize> && !Layer<NoOutputSize>);
static_assert(!CountsParameters<NoParameterCount> && !Layer<NoParameterCount>);
static_assert(!KnowsWorkspaceSize<NoWorkspaceSize> && !Layer<NoWorkspaceSize>);
static_assert(!InitializesParameters<NoInitialize, float> && !Layer<NoInitialize>);
static_assert(!DescribesParameters<NoDescribe> && !Layer<NoDescribe>);
static_assert(!PassesForward<NoForward, float> && !Layer<NoForward>);
static_assert(!PassesBackward<NoBackward, float> && !Layer<NoBackward>);

BOOST_AUTO_TEST_CASE(streams_are_numbered_from_zero) {
    RandomStreams streams(5);
    for (std::uint64_t stream = 0; stream < 3; ++stream) {
        BOOST_TEST(streams.next().at(0) == Random(5, RandomStreams::first + stream).at(0));
    }
}

BOOST_AUTO_TEST_CASE(an_input_gradient_is_wanted_where_there_is_room_for_it) {
    BackwardPass<float> pass;
    BOOST_TEST(!pass.wants_input_gradient());
    float room = 0;
    pass.input_gradient = {&room, 1, 1};
    BOOST_TEST(pass.wants_input_gradient());
}

}  // namespace
