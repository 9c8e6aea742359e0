// SPDX-License-Identifier: MIT
#include <lockstep/data/csv.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <lockstep/core/random.hpp>

#include "support/temporary_file.hpp"

namespace {

using lockstep::ConfigurationError;
using lockstep::Csv;
using lockstep::CsvOptions;
using lockstep::FormatError;
using lockstep::parse_csv;
using lockstep::read_csv;
using lockstep::Shape;
using Scalars = boost::mpl::list<float, double>;
using namespace std::string_view_literals;

constexpr CsvOptions with_header{.header = true};
constexpr CsvOptions with_gaps{.missing_as_nan = true};

auto says(const std::string& text) {
    return [text](const std::exception& error) {
        BOOST_TEST(error.what() == text);
        return true;
    };
}

/// The table in `text`, as rows of numbers.
std::vector<std::vector<double>> rows_of(std::string_view text, const CsvOptions& options = {}) {
    const auto csv = parse_csv<double>(text, "t", options);
    std::vector<std::vector<double>> rows;
    for (std::size_t row = 0; row < csv.values.extent(0); ++row) {
        const auto values = csv.values.matrix().row(row);
        rows.emplace_back(values.begin(), values.end());
    }
    return rows;
}

void refuses(std::string_view text, const std::string& message, const CsvOptions& options = {}) {
    BOOST_CHECK_EXCEPTION(parse_csv<double>(text, "t.csv", options), FormatError, says("t.csv: " + message));
}

const std::vector<std::vector<double>> two_rows{{1, 2.5}, {-3, 4e2}};

BOOST_AUTO_TEST_CASE_TEMPLATE(a_header_gaps_and_windows_line_ends, Scalar, Scalars) {
    // Trial B31: '\r' must not stick to the last column, the last line has no end, the gap is not dropped.
    constexpr auto text = "a,b,y\r\n1,2,0\r\n3,,1\r\n5,6,1"sv;
    const auto csv = parse_csv<Scalar>(text, "t.csv", {.header = true, .missing_as_nan = true});
    BOOST_TEST((csv.columns == std::vector<std::string>{"a", "b", "y"}));
    BOOST_TEST((csv.values.shape() == Shape{3, 3}));
    for (int row = 0; row < 3; ++row) BOOST_TEST(csv.values(row, 2) == (row == 0 ? 0 : 1));
    BOOST_TEST(csv.values(0, 1) == 2);
    BOOST_TEST(std::isnan(csv.values(1, 1)));
    BOOST_TEST(csv.values(2, 0) == 5);
    BOOST_TEST(csv.values(2, 1) == 6);

    BOOST_CHECK_EXCEPTION(
        parse_csv<Scalar>(text, "t.csv", with_header), FormatError,
        says("t.csv: line 3, column 2 (\"b\"): \"\" is a gap, and CsvOptions::missing_as_nan is not set"));
    const std::string header_as_data =
        "t.csv: line 1, column 1: \"a\" is not a number; if line 1 is a header, set CsvOptions::header";
    BOOST_CHECK_EXCEPTION(parse_csv<Scalar>(text, "t.csv"), FormatError, says(header_as_data));
    BOOST_CHECK_EXCEPTION(parse_csv<Scalar>(text, "t.csv", with_gaps), FormatError, says(header_as_data));
}

BOOST_AUTO_TEST_CASE(a_missing_last_field_is_a_gap_too) {
    refuses("a,b\n1,2\n3,\n", "line 3, column 2 (\"b\"): \"\" is a gap, and CsvOptions::missing_as_nan is not set",
            with_header);
    BOOST_TEST(std::isnan(rows_of("1,2\n3,", with_gaps).at(1).at(1)));
    BOOST_TEST(std::isnan(rows_of(",2\n3,4", with_gaps).at(0).at(0)));
    BOOST_TEST(std::isnan(rows_of("1, \t\n3,4", with_gaps).at(0).at(1)));
    // A line of nothing but separators is a row of gaps, not a blank line.
    const auto gaps = rows_of("1\t2\n\t\n", {.separator = '\t', .missing_as_nan = true});
    BOOST_TEST(gaps.size() == 2U);
    BOOST_TEST(std::isnan(gaps.at(1).at(0)));
    BOOST_TEST(std::isnan(gaps.at(1).at(1)));
}

BOOST_AUTO_TEST_CASE(all_usual_spellings_are_the_same_table) {
    for (const auto text : {"1,2.5\n-3,4e2\n"sv, "1,2.5\n-3,4e2"sv, "1,2.5\r\n-3,4e2\r\n"sv, "1,2.5\r\n-3,4e2\r"sv,
                            "1,2.5\n-3,4e2\n\n \r\n\t\n"sv,
                            "\xEF\xBB\xBF"
                            "1,2.5\n-3,4e2\n"sv,
                            " 1 ,\t2.5 \n  -3,4e2\t\n"sv, "\"1\",\"2.5\"\n\"-3\" , \"4e2\"\n"sv,
                            "\" 1 \",2.5\n-3,400.00\n"sv, "+1,+2.5\n-3.0,+4E+2\n"sv, "1.,.25e1\n-0.3e1,400\n"sv}) {
        BOOST_TEST((rows_of(text) == two_rows), "the text is: " << text);
    }
    BOOST_TEST((rows_of("1;2.5\n-3;4e2", {.separator = ';'}) == two_rows));
    BOOST_TEST((rows_of("1\t2.5\r\n-3\t4e2", {.separator = '\t'}) == two_rows));
    BOOST_TEST((rows_of("1 2.5\n-3 4e2\n", {.separator = ' '}) == two_rows));
    BOOST_TEST((rows_of("\xEF\xBB\xBF"
                        "\"x\",y\n1,2.5\n-3,4e2",
                        with_header) == two_rows));
    BOOST_TEST((rows_of("7") == std::vector<std::vector<double>>{{7}}));
}

BOOST_AUTO_TEST_CASE(numbers_are_the_nearest_ones) {
    // Closest double and float to a tenth; 2^24 + 1 has no float.
    BOOST_TEST(parse_csv<double>("0.1", "t").values(0, 0) == 0x1.999999999999ap-4);
    BOOST_TEST(parse_csv<float>("0.1", "t").values(0, 0) == 0x1.99999ap-4F);
    BOOST_TEST(parse_csv<double>("16777217", "t").values(0, 0) == 16777217);
    BOOST_TEST(std::signbit(parse_csv<double>("-0", "t").values(0, 0)));
    BOOST_TEST(parse_csv<float>("1e-45", "t").values(0, 0) == std::numeric_limits<float>::denorm_min());
    BOOST_TEST(parse_csv<float>("3.4028235e38", "t").values(0, 0) == std::numeric_limits<float>::max());
    BOOST_TEST(parse_csv<double>("0e999999", "t").values(0, 0) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_is_an_error) {
    for (const std::string text :
         {"1.5x", "abc", "1 2", "0x10", "1,5",      "--1", "+-1", "+",     "-",     ".",
          "e5",   "1e",  "inf", "-inf", "infinity", "nan", "NaN", "1_000", "1.2.3", "\u22121"}) {
        refuses("1;2\n3;" + text, "line 2, column 2: \"" + text + "\" is not a number", {.separator = ';'});
    }
    refuses("x,y\n1,2\n3,four", "line 3, column 2 (\"y\"): \"four\" is not a number", with_header);
    // Line ends of old machines: one line, whose fields are shown as they are.
    refuses("1,2\r3,4", "line 1, column 2: \"2\\x0d3\" is not a number; if line 1 is a header, set CsvOptions::header");
    refuses("1\n" + std::string(1000, '7') + "x",
            "line 2, column 1: \"" + std::string(40, '7') + "...\" is not a number");
    BOOST_TEST(std::isnan(rows_of("1\nnan", with_gaps).at(1).at(0)));
    refuses("1\ninf", "line 2, column 1: \"inf\" is not a number", with_gaps);
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_errors) {
    refuses("1\n1e400", "line 2, column 1: \"1e400\" is out of range");
    refuses("1\n-1e400", "line 2, column 1: \"-1e400\" is out of range");
    refuses("1\n0.001e-400", "line 2, column 1: \"0.001e-400\" is out of range");
    BOOST_CHECK_EXCEPTION(parse_csv<float>("1\n1e39", "t"), FormatError,
                          says("t: line 2, column 1: \"1e39\" is out of range"));
    BOOST_CHECK_EXCEPTION(parse_csv<float>("1\n1e-60", "t"), FormatError,
                          says("t: line 2, column 1: \"1e-60\" is out of range"));
}

BOOST_AUTO_TEST_CASE(lines_of_other_lengths_are_errors) {
    refuses("1,2\n3,4,5\n", "line 2: 3 fields, but line 1 has 2");
    refuses("1,2\n3,4\n5\n", "line 3: 1 fields, but line 1 has 2");
    refuses("a,b,c\n1,2\n", "line 2: 2 fields, but line 1 has 3", with_header);
    refuses("1,2\n\n3,4\n", "line 2: the line is blank");
    refuses("1\n \r\n3\n", "line 2: the line is blank", with_gaps);
    refuses("\n1,2\n", "line 1: the line is blank");
}

BOOST_AUTO_TEST_CASE(files_without_a_table_are_errors) {
    for (const auto text : {""sv, "\n"sv, "\r\n\r\n"sv, "  \n"sv, "\xEF\xBB\xBF"sv}) {
        refuses(text, "line 1: the file is empty");
        refuses(text, "line 1: the file is empty", with_header);
    }
}

BOOST_AUTO_TEST_CASE(a_header_alone_is_a_table_without_rows) {
    const auto csv = parse_csv<float>("a,b,c\n", "t", with_header);
    BOOST_TEST((csv.values.shape() == Shape{0, 3}));
    BOOST_TEST(csv.columns.size() == 3U);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_are_errors) {
    refuses("1,2\n3,\0"sv, "line 2, column 2: a null byte; this is not text");
    refuses("a\0b,c\n1,2"sv, "line 1, column 1: a null byte; this is not text", with_header);
    // The first bytes of a gzip file.
    BOOST_CHECK_THROW(parse_csv<float>("\x1F\x8B\x08\x00\x00\x00\x00\x00"sv, "t"), FormatError);
    refuses("1\n\x1F\x8B\x08", "line 2, column 1: \"\\x1f\x8B\\x08\" is not a number");
}

BOOST_AUTO_TEST_CASE(quotes_hold_separators_but_no_line_ends) {
    const auto csv = parse_csv<float>("\"width, cm\",\"y\"\n1,2", "t", with_header);
    BOOST_TEST((csv.columns == std::vector<std::string>{"width, cm", "y"}));
    refuses("1,2\n\"3,4\n", "line 2, column 1: the quote is not closed on this line");
    refuses("1,2\n3,\"4\"5\n", "line 2, column 2: text follows the closing quote");
    refuses("1,2\n3,\"4,5\"\n", "line 2, column 2: \"4,5\" is not a number");
    refuses("1,2\n3,\"\"\n", "line 2, column 2: \"\" is a gap, and CsvOptions::missing_as_nan is not set");
    refuses("1,2\n3,4\"\n", "line 2, column 2: \"4\"\" is not a number");
}

BOOST_AUTO_TEST_CASE(columns_are_found_by_name) {
    const auto csv = parse_csv<float>("a,b,b\n1,2,3", "t.csv", with_header);
    BOOST_TEST(csv.column("a") == 0U);
    BOOST_CHECK_EXCEPTION(csv.column("z"), FormatError, says("t.csv: no column is called \"z\""));
    BOOST_CHECK_EXCEPTION(csv.column("b"), FormatError, says("t.csv: more than one column is called \"b\""));
    BOOST_CHECK_THROW(parse_csv<float>("1", "t").column("a"), FormatError);
}

BOOST_AUTO_TEST_CASE(separators_that_numbers_contain_are_refused) {
    for (const char separator : "0e.-+\"\n\rZ"sv) {
        BOOST_CHECK_THROW(parse_csv<float>("1", "t", {.separator = separator}), ConfigurationError);
    }
    BOOST_CHECK_EXCEPTION(parse_csv<float>("1", "t", {.separator = '\0'}), ConfigurationError,
                          says("CsvOptions::separator cannot be \"\\x00\""));
}

BOOST_AUTO_TEST_CASE(files_are_read_and_named) {
    const test::TemporaryFile file("a,b\n1,2\n");
    BOOST_TEST(read_csv<double>(file.path(), with_header).values(0, 1) == 2);
    BOOST_CHECK_EXCEPTION(
        read_csv<double>(file.path()), FormatError,
        says(file.path() + ": line 1, column 1: \"a\" is not a number; if line 1 is a header, set CsvOptions::header"));
    BOOST_CHECK_EXCEPTION(read_csv<double>("/nowhere/t.csv"), FormatError,
                          says("/nowhere/t.csv: cannot be opened: No such file or directory"));
}

BOOST_AUTO_TEST_CASE(the_digits_are_all_there) {
    const auto csv = read_csv<float>(LOCKSTEP_EXAMPLE_DATA "/digits.csv");
    BOOST_TEST((csv.values.shape() == Shape{1797, 65}));
    double pixels = 0;
    for (int row = 0; row < 1797; ++row) {
        for (int col = 0; col < 64; ++col) pixels += double{csv.values(row, col)};
    }
    BOOST_TEST(pixels == 561718);
    BOOST_TEST(csv.values(1796, 64) == 8);
}

BOOST_AUTO_TEST_CASE(damaged_text_is_a_table_or_a_format_error) {
    constexpr auto sound = "a,\"b\",y\r\n1,2.5e1,0\r\n-3,\"4\",1\r\n5,6,nan\r\n"sv;
    constexpr auto bytes = ",\"\r\n \t\0.e-+90a\xEF\xFF"sv;
    lockstep::Random random(31);
    const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); };
    int tables = 0;
    int errors = 0;
    for (int trial = 0; trial < 20'000; ++trial) {
        std::string text(sound);
        for (std::size_t damage = below(4); damage != 0; --damage) {
            const std::size_t place = below(text.size());
            switch (below(4)) {
                case 0: text[place] = bytes[below(bytes.size())]; break;
                case 1: text.insert(place, 1, bytes[below(bytes.size())]); break;
                case 2: text.erase(place, 1 + below(5)); break;
                default: text.resize(place + 1); break;
            }
        }
        const CsvOptions options{.header = below(4) != 0, .missing_as_nan = below(2) != 0};
        try {
            const auto csv = parse_csv<float>(text, "t", options);
            // Every value ends with a byte of the text, or with the text.
            BOOST_REQUIRE(csv.values.numel() <= text.size() + 1);
            ++tables;
        } catch (const FormatError& error) {
            BOOST_REQUIRE(std::string_view(error.what()).starts_with("t: line "));
            ++errors;
        }
    }
    // Both happen often, or the damage is too small or too great to test anything.
    BOOST_TEST(tables > 1000);
    BOOST_TEST(errors > 1000);
}

}  // namespace
