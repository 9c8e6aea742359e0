// SPDX-License-Identifier: MIT
#include <lockstep/optim/clip.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(only_what_is_longer_than_the_limit_is_scaled) {
    std::vector<double> gradients{3, -4};
    BOOST_TEST(clip_gradient_norm(std::span(gradients), 10) == 5);
    BOOST_TEST(gradients == std::vector<double>({3, -4}));
    BOOST_TEST(clip_gradient_norm(std::span(gradients), 1) == 5);
    // PyTorch divides by the norm and a millionth.
    BOOST_TEST(std::abs(gradients[0] - 3 / 5.000001) < 1e-15);
    BOOST_TEST(std::abs(gradients[1] + 4 / 5.000001) < 1e-15);
    std::vector<float> nothing;
    BOOST_TEST(clip_gradient_norm(std::span(nothing), 1) == 0);
    std::vector<float> zeros(3);
    BOOST_TEST(clip_gradient_norm(std::span(zeros), 0) == 0);
}

BOOST_AUTO_TEST_CASE(the_norm_does_not_overflow_and_what_is_not_finite_is_left_alone) {
    std::vector<float> large(4, 1e30F);
    BOOST_TEST(clip_gradient_norm(std::span(large), 1) > 1e30);
    for (const float each : large) BOOST_TEST(std::abs(each - 0.5F) < 1e-6F);
    std::vector<float> lost{1, std::numeric_limits<float>::infinity()};
    BOOST_TEST(std::isinf(clip_gradient_norm(std::span(lost), 1)));
    BOOST_TEST(lost[0] == 1);
    BOOST_CHECK_THROW(clip_gradient_norm(std::span(large), -1), ConfigurationError);
}

}  // namespace
