// SPDX-License-Identifier: MIT
#include <lockstep/optim/schedules.hpp>

#include <cmath>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

/// Closed forms from PyTorch's documentation, at some steps.
BOOST_AUTO_TEST_CASE(rates_over_time) {
    const auto near = [](double value, double expected) { return std::abs(value - expected) < 1e-15; };
    const StepDecay steps{.rate = 0.5, .every = 10, .factor = 0.1};
    BOOST_TEST(steps(0) == 0.5);
    BOOST_TEST(steps(9) == 0.5);
    BOOST_TEST(near(steps(10), 0.05));
    BOOST_TEST(near(steps(29), 0.005));
    const CosineDecay cosine{.rate = 1, .steps = 100, .least = 0.2};
    BOOST_TEST(cosine(0) == 1);
    BOOST_TEST(near(cosine(50), 0.6));
    BOOST_TEST(near(cosine(25), 0.2 + 0.4 * (1 + std::sqrt(0.5))));
    BOOST_TEST(near(cosine(100), 0.2));
    BOOST_TEST(near(cosine(1000), 0.2));
    const WarmUp warm{StepDecay{.rate = 0.5, .every = 1000}, 4, 0.5};
    BOOST_TEST(warm(0) == 0.25);
    BOOST_TEST(warm(2) == 0.375);
    BOOST_TEST(warm(4) == 0.5);
    BOOST_TEST(warm(999) == 0.5);
    const WarmUp none{cosine, 0, 0};
    BOOST_TEST(none(0) == 1);
}

}  // namespace
