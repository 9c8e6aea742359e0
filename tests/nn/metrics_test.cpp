// SPDX-License-Identifier: MIT
#include <lockstep/nn/metrics.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

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
    BOOST_TEST(correct(view, std::array<std::int32_t, 4>{2, 0, 0, 0}, 0) == 1U);  // three rows are ignored
}

BOOST_AUTO_TEST_CASE(labels_and_rows_must_be_as_many) {
    const std::array<float, 4> logits{};
    const std::array<std::int32_t, 3> labels{};
    BOOST_CHECK_THROW(correct(MatrixView<const float>(logits.data(), 2, 2), labels), ShapeError);
}

BOOST_AUTO_TEST_CASE(answers_are_counted_by_label) {
    // Labels 0, 0, 2, 1 are taken for 0, 2, 2, 0; the counts begin at 10 times row plus column.
    const std::vector<float> logits{5, 1, 1, 0, 1, 9, 0, 0, 1, 3, 2, 3};
    const std::vector<std::int32_t> labels{0, 0, 2, 1};
    std::vector<std::int64_t> counts{0, 1, 2, 10, 11, 12, 20, 21, 22};
    const lockstep::MatrixView<std::int64_t> view(counts.data(), 3, 3);
    lockstep::add_confusion(lockstep::MatrixView<const float>(logits.data(), 4, 3), labels, view);
    const std::vector<std::int64_t> expected{1, 1, 3, 11, 11, 12, 20, 21, 23};
    BOOST_TEST(counts == expected);

    const std::vector<std::int32_t> masked{-100, 0, -100, 1};
    lockstep::add_confusion(lockstep::MatrixView<const float>(logits.data(), 4, 3), masked, view, -100);
    const std::vector<std::int64_t> more{1, 1, 4, 12, 11, 12, 20, 21, 23};
    BOOST_TEST(counts == more);

    const auto refuses = [&](const std::vector<std::int32_t>& wrong, lockstep::MatrixView<std::int64_t> into) {
        const lockstep::MatrixView<const float> rows(logits.data(), 4, 3);
        BOOST_CHECK_THROW(lockstep::add_confusion(rows, wrong, into), lockstep::ShapeError);
        BOOST_TEST(counts == more);
    };
    refuses({0, 0, 2}, view);
    refuses({0, 0, 2, 3}, view);
    refuses({0, 0, 2, -1}, view);
    refuses(labels, lockstep::MatrixView<std::int64_t>(counts.data(), 2, 3));
}

}  // namespace
