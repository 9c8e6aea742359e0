// SPDX-License-Identifier: MIT
#include <lockstep/nn/dropout.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <ratio>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using namespace lockstep;
using Quarter = Dropout<std::ratio<1, 4>>;

static_assert(Layer<Dropout<>> && Layer<Quarter, double>);
static_assert(Dropout<>::probability == 0.5 && Quarter::probability == 0.25);

constexpr PassContext training{.training = true, .seed = 3, .step = 4};

/// What becomes of `rows` rows of ones.
template <class Layer>
std::vector<float> dropped(std::size_t rows, std::size_t size, const PassContext& context) {
    const std::vector<float> input(rows * size, 1);
    std::vector<float> output(rows * size);
    std::vector<float> workspace(Layer::workspace_size(rows, size));
    Layer::forward(ForwardPass<float>{.input = {input.data(), rows, size},
                                      .output = {output.data(), rows, size},
                                      .workspace = workspace,
                                      .context = context});
    return output;
}

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_function) {
    BOOST_TEST(test::layer_error<Quarter>(3, 7) < 1e-8);
    BOOST_TEST(test::layer_error<Dropout<>>(4, 4) < 1e-8);
}

BOOST_AUTO_TEST_CASE(a_share_of_numbers_is_0_and_the_rest_is_scaled) {
    constexpr std::size_t count = 100'000;
    double zeros = 0;
    for (const float value : dropped<Quarter>(count / 50, 50, training)) {
        if (value == 0) ++zeros;
        else BOOST_REQUIRE(value == static_cast<float>(1 / 0.75));
    }
    // Five standard deviations of a binomial distribution.
    BOOST_TEST(std::abs(zeros - count * 0.25) < 5 * std::sqrt(count * 0.25 * 0.75));
    for (const float value : dropped<Dropout<std::ratio<0>>>(100, 50, training)) BOOST_REQUIRE(value == 1);
}

BOOST_AUTO_TEST_CASE(outside_of_training_nothing_happens) {
    for (const float value : dropped<Quarter>(10, 50, {.seed = 3})) BOOST_REQUIRE(value == 1);
}

BOOST_AUTO_TEST_CASE(a_row_of_the_global_batch_is_dropped_alike_wherever_it_is) {
    const auto whole = dropped<Quarter>(10, 7, training);
    PassContext own = training;
    own.first_row = 6;
    const auto part = dropped<Quarter>(4, 7, own);
    BOOST_TEST(std::vector<float>(whole.begin() + 6 * 7, whole.end()) == part, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(seeds_steps_places_and_rows_draw_other_numbers) {
    const auto first = dropped<Dropout<>>(4, 64, training);
    for (PassContext other : {training, training, training, training.part(0)}) {
        static int which = 0;
        if (which == 0) other.seed = 4;
        if (which == 1) other.step = 5;
        if (which == 2) other.first_row = 4;
        ++which;
        const auto second = dropped<Dropout<>>(4, 64, other);
        int equal = 0;
        for (std::size_t index = 0; index < first.size(); ++index) equal += first[index] == second[index];
        BOOST_TEST(equal > 128 - 60);  // seven and a half standard deviations
        BOOST_TEST(equal < 128 + 60);
    }
    BOOST_TEST(training.part(0).stream() != training.part(1).stream());
    BOOST_TEST(training.part(0).part(1).stream() != training.part(1).part(0).stream());
}

BOOST_AUTO_TEST_CASE(what_is_dropped_is_0_even_if_it_was_no_number) {
    const std::vector<float> input(64, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> output(64);
    std::vector<float> workspace(64);
    Dropout<>::forward(ForwardPass<float>{
        .input = {input.data(), 1, 64}, .output = {output.data(), 1, 64}, .workspace = workspace, .context = training});
    int zeros = 0;
    for (const float value : output) zeros += value == 0;
    BOOST_TEST(zeros > 0);
    BOOST_TEST(zeros < 64);
}

}  // namespace
