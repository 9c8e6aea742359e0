// SPDX-License-Identifier: MIT
#include <lockstep/data/split.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"

namespace {

using namespace lockstep;

BOOST_AUTO_TEST_CASE(every_row_is_in_one_of_the_two) {
    for (const std::size_t rows : {0U, 1U, 2U, 7U, 1797U}) {
        for (const double fraction : {0.0, 0.2, 0.5, 1.0}) {
            const RowSplit split = split_rows(rows, fraction, 3);
            BOOST_TEST(split.test.size() ==
                       static_cast<std::size_t>(std::lround(static_cast<double>(rows) * fraction)));
            BOOST_TEST(std::is_sorted(split.train.begin(), split.train.end()));
            BOOST_TEST(std::is_sorted(split.test.begin(), split.test.end()));
            std::vector<std::size_t> all = split.train;
            all.insert(all.end(), split.test.begin(), split.test.end());
            std::sort(all.begin(), all.end());
            BOOST_REQUIRE(all.size() == rows);
            for (std::size_t row = 0; row < rows; ++row) BOOST_REQUIRE(all[row] == row);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_seed_decides) {
    BOOST_TEST(split_rows(100, 0.3, 1).test == split_rows(100, 0.3, 1).test, boost::test_tools::per_element());
    BOOST_TEST((split_rows(100, 0.3, 1).test != split_rows(100, 0.3, 2).test));
    // Not the first rows, and not the last.
    const auto test = split_rows(1000, 0.5, 1).test;
    const auto low = std::count_if(test.begin(), test.end(), [](std::size_t row) { return row < 500; });
    BOOST_TEST(low > 200);
    BOOST_TEST(low < 300);
}

BOOST_AUTO_TEST_CASE(a_fraction_is_within_0_and_1) {
    for (const double fraction : {-0.1, 1.1, std::nan("")}) {
        test::check_error(test::outcome_of([&] { split_rows(10, fraction, 1); }), ErrorKind::configuration,
                          {"test_fraction must be within 0 and 1"});
    }
}

}  // namespace
