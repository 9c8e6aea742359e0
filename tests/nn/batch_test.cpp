// SPDX-License-Identifier: MIT
#include <lockstep/nn/batch.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <boost/test/unit_test.hpp>

#include <lockstep/core/concepts.hpp>

namespace {

using namespace lockstep;

using Labels = std::span<const std::int32_t>;
static_assert(Sliceable<Batch<float, Labels>> && Sliceable<Batch<double, MatrixView<const double>>>);

/// Targets that are neither labels nor a matrix: rows from `first` up.
struct Counting {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t rows() const { return count; }
    Counting slice(Shard range) const { return {first + range.begin, range.size}; }
};

constexpr std::array<float, 10> inputs{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr std::array<std::int32_t, 5> labels{10, 11, 12, 13, 14};

auto says(const std::string& text) {
    return [text](const std::exception& error) { return std::string(error.what()) == text; };
}

BOOST_AUTO_TEST_CASE(a_slice_has_the_rows_and_their_targets) {
    const Batch batch{MatrixView<const float>(inputs.data(), 5, 2), Labels(labels)};
    static_assert(std::same_as<decltype(batch), const Batch<float, Labels>>);
    BOOST_TEST(batch.rows() == 5U);
    const auto part = batch.slice({.begin = 1, .size = 3});
    BOOST_TEST(part.rows() == 3U);
    BOOST_TEST(part.inputs(0, 0) == 2);
    BOOST_TEST(part.inputs(2, 1) == 7);
    BOOST_TEST(part.targets.size() == 3U);
    BOOST_TEST(part.targets[0] == 11);
    BOOST_TEST(part.slice({.begin = 2, .size = 1}).targets[0] == 13);
    BOOST_TEST(batch.slice({.begin = 5, .size = 0}).rows() == 0U);
}

BOOST_AUTO_TEST_CASE(targets_may_be_rows_of_numbers_or_anything_that_slices) {
    const MatrixView<const float> rows(inputs.data(), 5, 2);
    const auto numbers = Batch{rows, rows}.slice({.begin = 4, .size = 1});
    BOOST_TEST(numbers.targets.rows == 1U);
    BOOST_TEST(numbers.targets(0, 0) == 8);
    const auto counted = Batch{rows, Counting{20, 5}}.slice({.begin = 2, .size = 2});
    BOOST_TEST(counted.targets.first == 22U);
    BOOST_TEST(counted.targets.count == 2U);
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_match_are_refused) {
    using LabelBatch = Batch<float, Labels>;
    const MatrixView<const float> rows(inputs.data(), 5, 2);
    BOOST_CHECK_EXCEPTION((LabelBatch{rows, Labels(labels).first(4)}), ShapeError,
                          says("a batch of 5 input rows and 4 targets"));
    LabelBatch batch{rows, labels};
    batch.inputs.rows = 2;
    BOOST_CHECK_EXCEPTION(batch.check(), ShapeError, says("a batch of 2 input rows and 5 targets"));
    BOOST_CHECK_THROW(batch.slice({.begin = 0, .size = 1}), ShapeError);
}

BOOST_AUTO_TEST_CASE(a_slice_beyond_the_batch_is_refused) {
    const Batch batch{MatrixView<const float>(inputs.data(), 5, 2), Labels(labels)};
    BOOST_CHECK_EXCEPTION(batch.slice({.begin = 4, .size = 2}), ShapeError, says("rows 4 to 6 of a batch of 5 rows"));
    BOOST_CHECK_THROW(batch.slice({.begin = 6, .size = 0}), ShapeError);
    BOOST_CHECK_THROW(batch.slice({.begin = 3, .size = static_cast<std::size_t>(-2)}), ShapeError);
}

}  // namespace
