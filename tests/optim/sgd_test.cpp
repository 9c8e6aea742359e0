// SPDX-License-Identifier: MIT
#include <lockstep/optim/sgd.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(options_in_braces_make_an_optimizer_of_float) {
    Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    static_assert(std::same_as<decltype(optimizer), Sgd<float>>);
    Sgd plain{SgdOptions{}};
    static_assert(std::same_as<decltype(plain), Sgd<float>>);
    BOOST_TEST(optimizer.options().momentum == 0.9);
    BOOST_TEST(optimizer.options().learning_rate == 0.1);
    BOOST_TEST(!optimizer.options().nesterov);
}

/// The parameter after each of the steps with gradient 1, beginning at 1.
std::vector<double> walk(SgdOptions options, int steps) {
    Sgd<double> optimizer(options);
    std::vector<double> parameter{1};
    const std::vector<double> gradient{1};
    std::vector<double> seen;
    for (int step = 0; step < steps; ++step) {
        optimizer.step(parameter, gradient);
        seen.push_back(parameter[0]);
    }
    return seen;
}

void check_walk(SgdOptions options, const std::vector<double>& expected) {
    const auto seen = walk(options, static_cast<int>(expected.size()));
    for (std::size_t step = 0; step < expected.size(); ++step) {
        BOOST_TEST(std::abs(seen[step] - expected[step]) < 1e-14);
    }
}

BOOST_AUTO_TEST_CASE(steps_by_hand) {
    check_walk({.learning_rate = 0.1}, {0.9, 0.8, 0.7});
    // v = 1, 1.9, 2.71
    check_walk({.learning_rate = 0.1, .momentum = 0.9}, {0.9, 0.71, 0.439});
    // 1 + 0.9 v = 1.9, 2.71, 3.439
    check_walk({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}, {0.81, 0.539, 0.1951});
    // 1 + p/2 = 1.5, 1.425, 1.35375
    check_walk({.learning_rate = 0.1, .weight_decay = 0.5}, {0.85, 0.7075, 0.572125});
    // v = 1.5, then 0.5 * 1.5 + 1 + 0.85/2 = 2.175
    check_walk({.learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.5}, {0.85, 0.6325});
}

using Scalars = boost::mpl::list<float, double>;
BOOST_AUTO_TEST_CASE_TEMPLATE(many_steps_match_a_plain_loop, Scalar, Scalars) {
    const double tolerance = 50 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
    for (const SgdOptions options : {SgdOptions{.learning_rate = 0.05, .weight_decay = 0.02},
                                     SgdOptions{.learning_rate = 0.05, .momentum = 0.8, .weight_decay = 0.02},
                                     SgdOptions{.learning_rate = 0.05, .momentum = 0.8, .nesterov = true}}) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{19}}) {
            Random random(1);
            std::vector<Scalar> parameters(count, Scalar{1});
            std::vector<double> expected(count, 1);
            std::vector<double> velocity(count, 0);
            Sgd<Scalar> optimizer(options);
            for (int step = 0; step < 10; ++step) {
                std::vector<Scalar> gradients(count);
                for (std::size_t i = 0; i < count; ++i) {
                    gradients[i] = static_cast<Scalar>(random.uniform(-1, 1));
                    double gradient = static_cast<double>(gradients[i]);
                    gradient += options.weight_decay * expected[i];
                    velocity[i] = options.momentum * velocity[i] + gradient;
                    const double change = options.nesterov ? gradient + options.momentum * velocity[i] : velocity[i];
                    expected[i] -= options.learning_rate * change;
                }
                optimizer.step(parameters, gradients);
            }
            for (std::size_t i = 0; i < count; ++i) {
                BOOST_TEST(std::abs(static_cast<double>(parameters[i]) - expected[i]) < tolerance);
            }
            if (options.momentum == 0) {
                BOOST_TEST(optimizer.state().empty());
                continue;
            }
            BOOST_REQUIRE(optimizer.state().size() == count);
            for (std::size_t i = 0; i < count; ++i) {
                BOOST_TEST(std::abs(static_cast<double>(optimizer.state()[i]) - velocity[i]) < tolerance);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(an_element_moves_the_same_wherever_it_lies) {
    // Steps of parts must give the bits of a step of the whole: vectors and their rest are one formula.
    constexpr std::size_t count = 11;
    const SgdOptions options{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true};
    std::vector<float> whole(count);
    std::vector<float> gradients(count);
    Random random(3);
    for (std::size_t i = 0; i < count; ++i) {
        whole[i] = static_cast<float>(random.uniform(-1, 1));
        gradients[i] = static_cast<float>(random.uniform(-1, 1));
    }
    std::vector<float> alone = whole;
    Sgd<float> optimizer(options);
    std::vector<Sgd<float>> optimizers(count, Sgd<float>(options));
    for (int step = 0; step < 5; ++step) {
        optimizer.step(whole, gradients);
        for (std::size_t i = 0; i < count; ++i) {
            optimizers[i].step(std::span(alone).subspan(i, 1), std::span(gradients).subspan(i, 1));
        }
    }
    BOOST_TEST(whole == alone, boost::test_tools::per_element());
}

struct TwoNumbers {
    std::array<float, 2> values{1, 2};
    std::array<float, 2> slopes{10, 20};
    std::span<float> parameters() { return values; }
    std::span<float> gradients() { return slopes; }
};

BOOST_AUTO_TEST_CASE(anything_with_parameters_and_gradients_can_step) {
    TwoNumbers model;
    Sgd optimizer{{.learning_rate = 0.5}};
    optimizer.step(model);
    BOOST_TEST(model.values[0] == -4);
    BOOST_TEST(model.values[1] == -8);
}

BOOST_AUTO_TEST_CASE(state_is_all_that_goes_from_step_to_step) {
    const SgdOptions options{.learning_rate = 0.1, .momentum = 0.9};
    const std::vector<float> gradients{1, -2, 3};
    std::vector<float> parameters{1, 1, 1};
    Sgd<float> first(options);
    first.step(parameters, gradients);
    Sgd<float> second(options);
    second.reserve(3);
    BOOST_REQUIRE(second.state().size() == 3U);
    for (const float velocity : second.state()) BOOST_TEST(velocity == 0);
    std::copy(first.state().begin(), first.state().end(), second.state().begin());
    std::vector<float> continued = parameters;
    first.step(parameters, gradients);
    second.step(continued, gradients);
    BOOST_TEST(continued == parameters, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_are_refused_before_anything_is_changed) {
    const auto says = [](const std::string& text) {
        return [text](const ShapeError& error) { return error.what() == text; };
    };
    std::vector<float> parameters{1, 1, 1};
    const std::vector<float> gradients{1, 1, 1};
    Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    BOOST_CHECK_EXCEPTION(optimizer.step(parameters, std::span(gradients).first(2)), ShapeError,
                          says("Sgd: 3 parameters and 2 gradients"));
    BOOST_TEST(optimizer.state().empty());
    optimizer.step(std::span(parameters).first(2), std::span(gradients).first(2));
    const std::vector<float> before = parameters;
    BOOST_CHECK_EXCEPTION(optimizer.step(parameters, gradients), ShapeError,
                          says("Sgd has the state of 2 parameters and cannot step 3"));
    BOOST_CHECK_THROW(optimizer.reserve(3), ShapeError);
    BOOST_TEST(parameters == before, boost::test_tools::per_element());
    optimizer.reserve(2);
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused_by_name) {
    const auto refuses = [](SgdOptions options, const std::string& text) {
        BOOST_CHECK_EXCEPTION(Sgd<float>{options}, ConfigurationError, [&](const ConfigurationError& error) {
            return std::string(error.what()).find(text) != std::string::npos;
        });
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refuses({.learning_rate = -0.1}, "learning_rate must be finite and not negative, not -0.1");
    refuses({.learning_rate = nan}, "learning_rate must be finite and not negative, not nan");
    refuses({.learning_rate = std::numeric_limits<double>::infinity()}, "learning_rate");
    refuses({.momentum = -1}, "momentum must be finite and not negative, not -1");
    refuses({.momentum = nan}, "momentum");
    refuses({.weight_decay = -2}, "weight_decay must be finite and not negative, not -2");
    refuses({.weight_decay = nan}, "weight_decay");
    refuses({.nesterov = true}, "nesterov needs a momentum above 0, not 0");

    Sgd optimizer{{.learning_rate = 0.5}};
    BOOST_CHECK_THROW(optimizer.set_learning_rate(-1), ConfigurationError);
    BOOST_TEST(optimizer.options().learning_rate == 0.5);
    optimizer.set_learning_rate(0.25);
    std::vector<float> parameter{1};
    optimizer.step(parameter, std::vector<float>{1});
    BOOST_TEST(parameter[0] == 0.75F);
}

BOOST_AUTO_TEST_CASE(without_decay_a_lost_parameter_does_not_reach_the_velocity) {
    std::vector<float> parameters(5, std::numeric_limits<float>::infinity());
    Sgd optimizer{{.learning_rate = 0.1, .momentum = 0.9}};
    optimizer.step(parameters, std::vector<float>(5, 1));
    for (const float velocity : optimizer.state()) BOOST_TEST(velocity == 1);
}

}  // namespace
