// SPDX-License-Identifier: MIT
#include <lockstep/nn/metrics.hpp>

#include <array>
#include <cstdint>
#include <span>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(rows_whose_largest_is_at_the_label_are_counted) {
    const std::array<float, 12> logits{1, 2, 3, 3, 2, 1, 5, 5, 0, -1, -2, -3};
    const MatrixView<const float> view(logits.data(), 4, 3);
    const auto count = [&](std::array<std::int32_t, 4> labels) { return correct(view, labels); };
    BOOST_TEST(count({2, 0, 0, 0}) == 4U);
    BOOST_TEST(count({2, 0, 1, 1}) == 2U);  // of equals the first counts
    BOOST_TEST(count({0, 1, 2, -1}) == 0U);
    BOOST_TEST(correct(MatrixView<float>(), {}) == 0U);
}

BOOST_AUTO_TEST_CASE(labels_and_rows_must_be_as_many) {
    const std::array<float, 4> logits{};
    const std::array<std::int32_t, 3> labels{};
    BOOST_CHECK_THROW(correct(MatrixView<const float>(logits.data(), 2, 2), labels), ShapeError);
}

}  // namespace
