// SPDX-License-Identifier: MIT
/// @file
/// Rows to learn from, and rows to be tested on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/random.hpp>

namespace lockstep {

/// Every row is in one of the two, once; both in rising order.
struct RowSplit {
    std::vector<std::size_t> train;
    std::vector<std::size_t> test;
};

/// Draws the test set, `test_fraction` of the rows (to the nearest row), by `seed`: the same on every rank.
/// For `InMemoryDataset::subset`.
/// @throws ConfigurationError if the fraction is not within 0 and 1
inline RowSplit split_rows(std::size_t rows, double test_fraction, std::uint64_t seed) {
    if (!(test_fraction >= 0 && test_fraction <= 1)) {
        throw ConfigurationError("test_fraction must be within 0 and 1, not " + std::to_string(test_fraction));
    }
    std::vector<std::size_t> order(rows);
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(std::span<std::size_t>(order), Random(seed, 0));
    const auto tested = static_cast<std::size_t>(static_cast<double>(rows) * test_fraction + 0.5);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>((std::min)(tested, rows));
    RowSplit split{{middle, order.end()}, {order.begin(), middle}};
    std::sort(split.train.begin(), split.train.end());
    std::sort(split.test.begin(), split.test.end());
    return split;
}

}  // namespace lockstep
