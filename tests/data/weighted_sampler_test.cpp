// SPDX-License-Identifier: MIT
#include <lockstep/data/weighted_sampler.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/conformance/sampler.hpp"

#include "support/messages.hpp"

namespace {

using namespace lockstep;

static_assert(Sampler<WeightedSampler>);

std::vector<std::size_t> drawn(const std::vector<double>& weights, std::uint64_t seed, std::uint64_t epoch) {
    std::vector<std::size_t> order(weights.size(), 99);
    WeightedSampler(weights, seed).fill(order, epoch);
    return order;
}

BOOST_AUTO_TEST_CASE(obeys_the_laws) {
    test::check_sampler([](std::size_t rows) {
        std::vector<double> weights(rows);
        for (std::size_t row = 0; row < rows; ++row) weights[row] = static_cast<double>(1 + row % 3);
        return lockstep::WeightedSampler(weights, 3);
    });
}

BOOST_AUTO_TEST_CASE(rows_come_as_often_as_their_weights_say) {
    const std::vector<double> weights{0, 1, 0, 5, 4, 0};
    std::array<double, 6> counts{};
    constexpr int epochs = 10'000;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (const std::size_t row : drawn(weights, 7, static_cast<std::uint64_t>(epoch))) ++counts.at(row);
    }
    for (std::size_t row = 0; row < 6; ++row) {
        // Binomial: the bound is five standard deviations, and 0 for rows of weight 0.
        const double share = weights[row] / 10;
        const double bound = 5 * std::sqrt(6 * epochs * share * (1 - share));
        BOOST_TEST(std::abs(counts.at(row) - 6 * epochs * share) <= bound);
    }
}

BOOST_AUTO_TEST_CASE(seed_and_epoch_name_the_order) {
    const std::vector<double> weights(50, 0.1);
    BOOST_TEST((drawn(weights, 1, 0) == drawn(weights, 1, 0)));
    BOOST_TEST((drawn(weights, 1, 0) != drawn(weights, 1, 1)));
    BOOST_TEST((drawn(weights, 1, 0) != drawn(weights, 2, 0)));
    BOOST_TEST(drawn({}, 1, 0).empty());
}

BOOST_AUTO_TEST_CASE(bad_weights_are_named) {
    const auto refuses = [](const std::vector<double>& weights, const char* text) {
        test::check_error(test::outcome_of([&] { WeightedSampler(weights, 1); }), ErrorKind::configuration, {text});
    };
    refuses({1, -1}, "the weight of row 1 is -1");
    refuses({1, 2, std::nan("")}, "the weight of row 2 is");
    refuses({std::numeric_limits<double>::infinity()}, "the weight of row 0 is inf");
    refuses({1e308, 1e308}, "the weight of row 1 is");
    refuses({0, 0}, "all rows have weight 0");
    const std::vector<double> two{1, 1};
    std::vector<std::size_t> three(3);
    test::check_error(test::outcome_of([&] { WeightedSampler(two, 1).fill(three, 0); }), ErrorKind::shape,
                      {"2 weights for 3 rows"});
}

}  // namespace
