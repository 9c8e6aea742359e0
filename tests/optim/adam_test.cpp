// SPDX-License-Identifier: MIT
#include <lockstep/optim/adam.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

// That many steps are those of PyTorch is a test of its own: parity/training_test.cpp.

namespace {

using namespace lockstep;
using Rules = boost::mpl::list<Adam<double>, AdamW<double>>;

static_assert(std::is_same_v<decltype(Adam{{.learning_rate = 0.1}}), Adam<float>>);

BOOST_AUTO_TEST_CASE(the_first_step_is_one_learning_rate_against_the_sign_of_the_gradient) {
    Adam<double> optimizer{{.learning_rate = 0.5, .epsilon = 0}};
    std::vector<double> parameters{1, 1, 1};
    optimizer.step(parameters, std::vector<double>{3, -0.001, 1e6});
    BOOST_TEST(std::abs(parameters[0] - 0.5) < 1e-12);
    BOOST_TEST(std::abs(parameters[1] - 1.5) < 1e-12);
    BOOST_TEST(std::abs(parameters[2] - 0.5) < 1e-12);
}

BOOST_AUTO_TEST_CASE(decay_goes_through_the_means_in_adam_and_past_them_in_adamw) {
    std::vector<double> through{2};
    Adam<double>{{.learning_rate = 0.5, .epsilon = 0, .weight_decay = 0.1}}.step(through, std::vector<double>{0});
    BOOST_TEST(std::abs(through[0] - 1.5) < 1e-12);  // The gradient is 0.2, and its size does not matter.
    std::vector<double> past{2};
    AdamW<double>{{.learning_rate = 0.5, .weight_decay = 0.1}}.step(past, std::vector<double>{0});
    BOOST_TEST(std::abs(past[0] - 1.9) < 1e-12);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_element_moves_the_same_wherever_it_lies, Rule, Rules) {
    const auto gradients = test::uniform(37, 1);
    auto together = test::uniform(37, 2);
    auto alone = together;
    Rule optimizer{AdamOptions{.weight_decay = 0.01}};
    for (int step = 0; step < 5; ++step) optimizer.step(together, gradients);
    for (std::size_t index = 0; index < alone.size(); ++index) {
        Rule single{AdamOptions{.weight_decay = 0.01}};
        for (int step = 0; step < 5; ++step) {
            single.step(std::span(alone).subspan(index, 1), std::span(gradients).subspan(index, 1));
        }
    }
    BOOST_TEST(together == alone);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(state_and_steps_are_all_that_goes_from_step_to_step, Rule, Rules) {
    const auto gradients = test::uniform(11, 1);
    auto straight = test::uniform(11, 2);
    auto resumed = straight;
    Rule whole;
    for (int step = 0; step < 6; ++step) whole.step(straight, gradients);
    Rule before;
    for (int step = 0; step < 3; ++step) before.step(resumed, gradients);
    Rule after;
    after.reserve(11);
    std::copy(before.state().begin(), before.state().end(), after.state().begin());
    after.set_steps(before.steps());
    for (int step = 0; step < 3; ++step) after.step(resumed, gradients);
    BOOST_TEST(straight == resumed);
    BOOST_TEST(after.steps() == 6);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sizes_that_do_not_fit_are_refused_before_anything_is_changed, Rule, Rules) {
    Rule optimizer;
    std::vector<double> parameters{1, 2, 3};
    BOOST_CHECK_THROW(optimizer.step(parameters, std::vector<double>{1, 2}), ShapeError);
    optimizer.step(parameters, std::vector<double>{0, 0, 0});
    std::vector<double> fewer{1, 2};
    BOOST_CHECK_THROW(optimizer.step(fewer, std::vector<double>{1, 2}), ShapeError);
    BOOST_TEST(fewer == std::vector<double>({1, 2}));
    BOOST_TEST(parameters == std::vector<double>({1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused_by_name) {
    const auto refuses = [](const AdamOptions& options, const std::string& text) {
        BOOST_CHECK_EXCEPTION(AdamW<float>{options}, ConfigurationError, [&](const ConfigurationError& error) {
            return std::string(error.what()).find(text) != std::string::npos;
        });
    };
    refuses({.learning_rate = -1}, "AdamW: learning_rate must be finite and not negative");
    refuses({.beta1 = 1}, "AdamW: beta1 must be at least 0 and below 1, not 1");
    refuses({.beta2 = -0.5}, "beta2");
    refuses({.beta2 = std::numeric_limits<double>::quiet_NaN()}, "beta2");
    refuses({.epsilon = -1}, "epsilon");
    refuses({.weight_decay = std::numeric_limits<double>::infinity()}, "weight_decay");
    Adam<float> optimizer;
    BOOST_CHECK_THROW(optimizer.set_learning_rate(-1), ConfigurationError);
    BOOST_TEST(optimizer.options().learning_rate == 0.001);
}

}  // namespace
