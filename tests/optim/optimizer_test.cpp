// SPDX-License-Identifier: MIT
#include <lockstep/optim/optimizer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>

#include "support/count_allocations.hpp"
#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;

struct Momentum : Sgd<float> {
    Momentum() : Sgd<float>{{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}} {}
};
struct Plain : Sgd<double> {
    Plain() : Sgd<double>{{.learning_rate = 0.1}} {}
};
struct Decayed : AdamW<float> {
    Decayed() : AdamW<float>{{.learning_rate = 0.01, .weight_decay = 0.1}} {}
};
struct Lossy : Adam<double> {
    Lossy() : Adam<double>{{.learning_rate = 0.01, .weight_decay = 0.1}} {}
};
using Rules = boost::mpl::list<Momentum, Plain, Decayed, Lossy>;

/// A layer of 3 to 4, a norm of 4, a layer of 4 to 2: 34 numbers, of which 14 lie in biases and norms.
const Manifest manifest{{"0.weight", {4, 3}}, {"0.bias", {4}}, {"1.gain", {4}},
                        {"2.weight", {2, 4}}, {"2.bias", {2}}, {"2.scaled_bias", {2, 2}}};

template <class Scalar>
std::vector<Scalar> uniform(std::size_t count, std::uint64_t seed) {
    const auto drawn = test::uniform(count, seed);
    return {drawn.begin(), drawn.end()};
}

BOOST_AUTO_TEST_CASE(biases_and_norms_are_known_by_shape_or_name) {
    std::vector<bool> taken;
    for (const Parameter& parameter : manifest) taken.push_back(biases_and_norms(parameter));
    BOOST_TEST(taken == std::vector<bool>({false, true, true, false, true, true}));
    BOOST_TEST(biases_and_norms({"", {}}));
    BOOST_TEST(!biases_and_norms({"ias", {2, 2}}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_group_steps_as_an_optimizer_of_its_own, Rule, Rules) {
    using Scalar = typename Rule::scalar_type;
    const std::size_t size = numel(manifest);
    Rule grouped;
    auto without_decay = grouped.options();
    without_decay.weight_decay = 0;
    without_decay.learning_rate = 0.5 * grouped.options().learning_rate;
    BOOST_TEST(grouped.add_group(manifest, biases_and_norms, without_decay) == 1U);
    Rule all;
    auto spared = all;
    static_cast<Optimizer<typename Rule::rule_type>&>(spared) = Optimizer<typename Rule::rule_type>(without_decay);
    auto parameters = uniform<Scalar>(size, 1);
    auto as_all = parameters;
    auto as_spared = parameters;
    for (std::size_t step = 0; step < 4; ++step) {
        const auto gradients = uniform<Scalar>(size, 2 + step);
        grouped.step(parameters, gradients);
        all.step(as_all, gradients);
        spared.step(as_spared, gradients);
    }
    std::size_t at = 0;
    for (const Parameter& parameter : manifest) {
        for (const std::size_t end = at + parameter.numel(); at < end; ++at) {
            BOOST_TEST(parameters[at] == (biases_and_norms(parameter) ? as_spared : as_all)[at]);
        }
    }
    BOOST_TEST(as_all != as_spared);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(pieces_of_a_step_make_the_bits_of_the_whole, Rule, Rules) {
    using Scalar = typename Rule::scalar_type;
    const std::size_t size = numel(manifest);
    Rule whole;
    whole.add_group(manifest, biases_and_norms, {.learning_rate = 0.03});
    const std::vector<Shard> skipped{{2, 3}, {11, 0}, {15, 6}, {21, 1}};
    for (const std::size_t longest : {std::size_t{1}, std::size_t{3}, std::size_t{13}}) {
        Rule cut = whole;
        Rule together = whole;
        auto expected = uniform<Scalar>(size, 1);
        auto parameters = expected;
        for (std::size_t step = 0; step < 4; ++step) {
            const auto gradients = uniform<Scalar>(size, 2 + step);
            const auto skips = std::span(skipped).first(step == 2 ? skipped.size() : 0);
            together.step(expected, gradients, skips);
            cut.reserve(size);
            cut.begin_step(skips);
            // From the last to the first: any order will do.
            for (std::size_t end = size; end > 0;) {
                const std::size_t count = (std::min)(end, longest);
                end -= count;
                cut.step_piece(std::span(parameters).subspan(end, count), std::span(gradients).subspan(end, count),
                               end);
            }
        }
        BOOST_TEST(parameters == expected);
        BOOST_TEST(
            std::equal(cut.state().begin(), cut.state().end(), together.state().begin(), together.state().end()));
        BOOST_TEST(cut.settings() == together.settings());
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_pieces_only_their_state_is_kept, Rule, Rules) {
    using Scalar = typename Rule::scalar_type;
    constexpr std::size_t size = 40;
    Rule whole;
    Rule part;
    const std::vector<Shard> pieces{{3, 4}, {7, 5}, {20, 0}, {30, 9}};
    part.reserve(size, pieces);
    part.reserve(size, pieces);
    auto expected = uniform<Scalar>(size, 1);
    auto parameters = expected;
    const auto start = parameters;
    for (std::size_t step = 0; step < 3; ++step) {
        const auto gradients = uniform<Scalar>(size, 2 + step);
        whole.step(expected, gradients);
        part.begin_step();
        // The first two are neighbours: one piece.
        for (const Shard& piece : {Shard{3, 9}, Shard{30, 9}}) {
            part.step_piece(std::span(parameters).subspan(piece.begin, piece.size),
                            std::span(gradients).subspan(piece.begin, piece.size), piece.begin);
        }
        const auto before = parameters;
        BOOST_CHECK_THROW(part.step_piece(std::span(parameters).first(4), std::span(gradients).first(4), 0),
                          ShapeError);
        BOOST_CHECK_THROW(part.step(parameters, gradients), ShapeError);
        BOOST_TEST(parameters == before);
        BOOST_TEST(part.steps() == whole.steps());
    }
    const std::size_t slots = whole.state().size() / size;
    BOOST_TEST(part.state().size() == slots * 18);
    part.pieces().for_each([&](const Shard& piece, std::size_t offset) {
        for (std::size_t slot = 0; slot < slots; ++slot) {
            BOOST_TEST(std::equal(part.state().begin() + static_cast<std::ptrdiff_t>(slot * 18 + offset),
                                  part.state().begin() + static_cast<std::ptrdiff_t>(slot * 18 + offset + piece.size),
                                  whole.state().begin() + static_cast<std::ptrdiff_t>(slot * size + piece.begin)));
        }
    });
    for (std::size_t at = 0; at < size; ++at) {
        const bool stepped = (at >= 3 && at < 12) || (at >= 30 && at < 39);
        BOOST_TEST(parameters[at] == (stepped ? expected : start)[at]);
    }
    BOOST_CHECK_THROW(part.reserve(size), ShapeError);
    BOOST_CHECK_THROW(Rule{}.reserve(size, std::vector<Shard>{{3, 4}, {6, 2}}), ShapeError);
    BOOST_CHECK_THROW(Rule{}.reserve(size, std::vector<Shard>{{39, 2}}), ShapeError);
    BOOST_CHECK_THROW(Rule{}.reserve(size, std::vector<Shard>{{41, 0}}), ShapeError);
}

/// Trial B09, by hand: parameters a and b get mean gradients 3 and 5 twice, c none at all.
BOOST_AUTO_TEST_CASE(what_is_skipped_keeps_value_and_momentum) {
    Sgd<double> optimizer{{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0}};
    std::vector<double> parameters{1, 1, 1};
    const std::vector<double> gradients{3, 5, std::nan("")};
    const Shard unused{2, 1};
    for (int step = 0; step < 2; ++step) optimizer.step(parameters, gradients, std::span(&unused, 1));
    BOOST_TEST(std::abs(parameters[0] - 0.13) < 1e-15);
    BOOST_TEST(std::abs(parameters[1] + 0.45) < 1e-15);
    BOOST_TEST(parameters[2] == 1);
    BOOST_TEST(optimizer.state()[2] == 0);
    // Momentum and decay move what is there without a gradient; not what is skipped.
    AdamW<double> decayed{{.learning_rate = 0.1, .weight_decay = 0.1}};
    std::vector<double> moved{1, 1};
    decayed.step(moved, std::vector<double>{1, 1});
    const std::vector<double> before = moved;
    const double mean = decayed.state()[0];
    const Shard first{0, 1};
    decayed.step(moved, std::vector<double>{0, 0}, std::span(&first, 1));
    BOOST_TEST(moved[0] == before[0]);
    BOOST_TEST(moved[1] < before[1]);
    BOOST_TEST(decayed.state()[0] == mean);
    BOOST_TEST(decayed.steps() == 2);
    const std::vector<Shard> overlapping{{0, 2}, {1, 1}};
    BOOST_CHECK_THROW(decayed.step(moved, before, overlapping), ShapeError);
    BOOST_TEST(decayed.steps() == 2);
}

BOOST_AUTO_TEST_CASE(rates_of_groups_keep_their_ratio) {
    Adam<float> optimizer{{.learning_rate = 0.1}};
    const auto group = optimizer.add_group(manifest, biases_and_norms, {.learning_rate = 0.3});
    const auto other = optimizer.add_group(
        manifest, [](const Parameter& each) { return each.name == "2.bias" || each.name == "2.weight"; },
        {.learning_rate = 0, .weight_decay = 7});
    optimizer.set_learning_rate(0.02);
    BOOST_TEST(optimizer.options().learning_rate == 0.02);
    BOOST_TEST(std::abs(optimizer.options(group).learning_rate - 0.06) < 1e-17);
    BOOST_TEST(optimizer.options(other).learning_rate == 0);
    optimizer.set_learning_rate(0);
    optimizer.set_learning_rate(0.1);
    BOOST_TEST(optimizer.options(group).learning_rate == 0.1 * (0.3 / 0.1));
    BOOST_CHECK_THROW(optimizer.set_learning_rate(1e308), ConfigurationError);
    BOOST_TEST(optimizer.options().learning_rate == 0.1);
    // A rate of 0 keeps the third group still: of "2.bias" the first group has taken hold before.
    std::vector<float> parameters(numel(manifest), 1);
    optimizer.step(parameters, std::vector<float>(parameters.size(), 1));
    BOOST_TEST(parameters[20] == 1);
    BOOST_TEST(parameters[27] == 1);
    BOOST_TEST(parameters[28] < 0.8F);
}

BOOST_AUTO_TEST_CASE(groups_that_make_no_sense_are_refused) {
    Adam<float> optimizer;
    BOOST_CHECK_THROW(optimizer.add_group(manifest, biases_and_norms, {.beta1 = 2}), ConfigurationError);
    optimizer.add_group(manifest, biases_and_norms, {});
    const Manifest shorter{{"bias", {3}}};
    BOOST_CHECK_THROW(optimizer.add_group(shorter, biases_and_norms, {}), ShapeError);
    std::vector<float> three(3);
    BOOST_CHECK_EXCEPTION(optimizer.step(three, three), ShapeError, [](const ShapeError& error) {
        return std::string(error.what()) == "Adam has groups of 34 parameters and cannot step 3";
    });
    optimizer.reserve(34);
    BOOST_CHECK_THROW(optimizer.add_group(manifest, biases_and_norms, {}), ConfigurationError);
    Sgd<float> still{{.learning_rate = 0}};
    BOOST_CHECK_THROW(still.add_group(manifest, biases_and_norms, {.learning_rate = 1}), ConfigurationError);
    BOOST_CHECK_THROW(still.options(1), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(settings_tell_apart_whatever_changes_a_step) {
    const auto of = [](const auto& change) {
        AdamW<float> optimizer;
        change(optimizer);
        return optimizer.settings();
    };
    const auto plain = of([](auto&) {});
    BOOST_TEST(plain == of([](auto&) {}));
    BOOST_TEST(plain != Adam<float>{}.settings());
    BOOST_TEST(plain != of([](auto& each) { each.set_learning_rate(0.002); }));
    BOOST_TEST(plain != of([](auto& each) { each.begin_step(); }));
    const auto grouped = of([](auto& each) { each.add_group(manifest, biases_and_norms, {}); });
    BOOST_TEST(plain != grouped);
    BOOST_TEST(grouped != of([](auto& each) { each.add_group(manifest, biases_and_norms, {.epsilon = 1}); }));
    BOOST_TEST(grouped != of([](auto& each) { each.add_group(manifest, [](const Parameter&) { return true; }, {}); }));
    const Shard range{1, 2};
    BOOST_TEST(of([](auto& each) { each.begin_step(); }) !=
               of([&](auto& each) { each.begin_step(std::span(&range, 1)); }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(no_step_after_the_first_allocates, Rule, Rules) {
    using Scalar = typename Rule::scalar_type;
    Rule optimizer;
    optimizer.add_group(manifest, biases_and_norms, {.learning_rate = 0.03});
    std::vector<Scalar> parameters(numel(manifest), 1);
    const std::vector<Scalar> gradients(parameters.size(), 1);
    const Shard unused{2, 1};
    optimizer.step(parameters, gradients, std::span(&unused, 1));
    const std::size_t before = test::allocations;
    for (int step = 0; step < 3; ++step) {
        optimizer.set_learning_rate(0.1 * step);
        optimizer.step(parameters, gradients, std::span(&unused, 1));
        static_cast<void>(optimizer.settings());
    }
    BOOST_TEST(test::allocations == before);
}

}  // namespace
