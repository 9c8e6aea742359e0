// SPDX-License-Identifier: MIT
/// @file
/// The laws of a Sampler: a new sampler's test calls check_sampler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/data/sampler.hpp>

#include <boost/test/unit_test.hpp>

namespace test {

inline constexpr std::size_t sampled_rows[]{0, 1, 2, 3, 100, 1797};

/// Places hold rows that exist; an epoch can be repeated by its number, by a copy too, and in any order of epochs.
/// `make(rows)` makes a sampler for a dataset of so many.
template <class Make>
void check_sampler(const Make& make) {
    for (const std::size_t rows : sampled_rows) {
        const auto sampler = make(rows);
        static_assert(lockstep::Sampler<std::remove_cv_t<decltype(sampler)>>);
        std::vector<std::vector<std::size_t>> first;
        for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
            std::vector<std::size_t> order(rows, ~std::size_t{0});
            sampler.fill(order, epoch);
            BOOST_TEST(std::all_of(order.begin(), order.end(), [rows](std::size_t row) { return row < rows; }));
            first.push_back(order);
        }
        const auto copy = sampler;
        for (std::uint64_t epoch = 4; epoch-- > 0;) {
            std::vector<std::size_t> order(rows);
            copy.fill(order, epoch);
            BOOST_TEST((order == first[epoch]), rows << " rows, epoch " << epoch);
        }
    }
}

/// And of those that visit every row once an epoch.
template <class Make>
void check_visits_every_row(const Make& make) {
    check_sampler(make);
    for (const std::size_t rows : sampled_rows) {
        for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
            std::vector<std::size_t> order(rows, ~std::size_t{0});
            make(rows).fill(order, epoch);
            std::sort(order.begin(), order.end());
            for (std::size_t row = 0; row < rows; ++row) BOOST_REQUIRE(order[row] == row);
        }
    }
}

}  // namespace test
