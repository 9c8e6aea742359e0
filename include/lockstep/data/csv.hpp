// SPDX-License-Identifier: MIT
/// @file
/// Tables of numbers from comma-separated text. Strict: what is not a number is an error that says where.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/shown.hpp>
#include <lockstep/data/file.hpp>
#include <lockstep/tensor/tensor.hpp>

namespace lockstep {

struct CsvOptions {
    bool header = false;          ///< the first line names the columns
    char separator = ',';         ///< not a letter, digit, quote, sign, point or line end
    bool missing_as_nan = false;  ///< empty fields and the word nan are NaN, not errors
};

/// A table of numbers, and where it came from.
template <std::floating_point Scalar>
struct Csv {
    std::string name;                    ///< the path, for messages
    std::vector<std::string> columns{};  ///< names, none without a header
    Tensor<Scalar> values{};             ///< (rows, columns)

    /// The number of the column called `wanted`. @throws FormatError if there is none, or more than one
    std::size_t column(std::string_view wanted) const {
        const auto found = std::find(columns.begin(), columns.end(), wanted);
        if (found == columns.end()) throw FormatError(name + ": no column is called " + detail::shown(wanted));
        if (std::find(found + 1, columns.end(), wanted) != columns.end()) {
            throw FormatError(name + ": more than one column is called " + detail::shown(wanted));
        }
        return static_cast<std::size_t>(found - columns.begin());
    }

    /// `digits.csv: line 3, column 2 ("b")`: where a value was read; `line`, like all lines, from 1, `column`
    /// from 0.
    std::string place(std::size_t line, std::size_t column) const {
        std::string text = name + ": line " + std::to_string(line) + ", column " + std::to_string(column + 1);
        return column < columns.size() ? text + " (" + detail::shown(columns[column]) + ")" : text;
    }
    /// The line of a row of `values`.
    std::size_t line_of(std::size_t row) const noexcept { return row + (columns.empty() ? 1 : 2); }
};

namespace detail {

constexpr bool is_digit(char letter) noexcept { return letter >= '0' && letter <= '9'; }

inline std::string_view trimmed(std::string_view field) noexcept {
    const std::size_t first = field.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

/// Empty but for spaces; fields that are only separated by them are not.
inline bool is_blank(std::string_view line, char separator) noexcept {
    return std::all_of(line.begin(), line.end(), [separator](char letter) {
        return (letter == ' ' || letter == '\t' || letter == '\r') && letter != separator;
    });
}

/// Cuts `line` into `fields`, without spaces around them and without their quotes.
/// @return what is wrong with the field after the last of `fields`, or null
inline const char* split(std::string_view line, char separator, std::vector<std::string_view>& fields) {
    fields.clear();
    while (true) {
        std::size_t end = (std::min)(line.find(separator), line.size());
        std::string_view field = trimmed(line.substr(0, end));
        if (field.starts_with('"')) {
            const auto first = static_cast<std::size_t>(field.data() - line.data()) + 1;
            const std::size_t closing = line.find('"', first);
            if (closing == std::string_view::npos) return "the quote is not closed on this line";
            end = (std::min)(line.find(separator, closing), line.size());
            if (!trimmed(line.substr(closing + 1, end - closing - 1)).empty()) return "text follows the closing quote";
            field = trimmed(line.substr(first, closing - first));
        }
        fields.push_back(field);
        if (end == line.size()) return nullptr;
        line.remove_prefix(end + 1);
    }
}

/// Reads one number. @return what is wrong with it, or null
template <class Scalar>
const char* read_number(std::string_view field, bool missing_as_nan, Scalar& value) {
    if (field.empty() || field == "nan" || field == "NaN" || field == "NAN") {
        value = std::numeric_limits<Scalar>::quiet_NaN();
        if (missing_as_nan) return nullptr;
        return field.empty() ? "is a gap, and CsvOptions::missing_as_nan is not set" : "is not a number";
    }
    // from_chars knows no plus sign, but does know words like inf, which are no data to learn from.
    const bool has_sign = field[0] == '+' || field[0] == '-';
    const std::string_view digits = field.substr(has_sign ? 1 : 0);
    if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) return "is not a number";
    if (field[0] == '+') field = digits;
    const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (problem == std::errc::invalid_argument || end != field.data() + field.size()) return "is not a number";
    return problem != std::errc() ? "is out of range" : nullptr;
}

inline void check_separator(char separator) {
    const bool letter = (separator >= 'a' && separator <= 'z') || (separator >= 'A' && separator <= 'Z');
    // The last of these is the null character, which string_view::find would not see in a plain literal.
    constexpr std::string_view reserved("\"+-.\r\n\0", 7);
    if (letter || is_digit(separator) || reserved.find(separator) != std::string_view::npos) {
        throw ConfigurationError("CsvOptions::separator cannot be " + shown(std::string_view(&separator, 1)));
    }
}

}  // namespace detail

/// The table in `text`; `name` stands for its path in messages.
///
/// Lines end with LF or CRLF, the last one may end without; blank lines may follow it but not interrupt it. A
/// byte order mark, spaces around numbers and quotes around fields are accepted. All lines have as many
/// fields as the first. Without rows, a header makes a table of 0 rows.
/// @throws FormatError naming line and column of the first thing that is wrong, ConfigurationError
template <std::floating_point Scalar>
Csv<Scalar> parse_csv(std::string_view text, std::string_view name, const CsvOptions& options = {}) {
    detail::check_separator(options.separator);
    Csv<Scalar> csv{.name = std::string(name)};
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    while (!text.empty()) {
        const std::size_t line_end = text.rfind('\n');
        const std::size_t last_line = line_end == std::string_view::npos ? 0 : line_end + 1;
        if (!detail::is_blank(text.substr(last_line), options.separator)) break;
        text = text.substr(0, last_line == 0 ? 0 : line_end);
    }
    if (text.empty()) throw FormatError(csv.name + ": line 1: the file is empty");

    std::vector<std::string_view> fields;
    std::vector<Scalar> values;
    std::size_t width = 0;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t line_end = (std::min)(text.find('\n'), text.size());
        std::string_view line = text.substr(0, line_end);
        text.remove_prefix((std::min)(line_end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);

        const auto refuse_line = [&](const std::string& reason) {
            throw FormatError(csv.name + ": line " + std::to_string(number) + ": " + reason);
        };
        if (detail::is_blank(line, options.separator)) refuse_line("the line is blank");
        const char* const reason = detail::split(line, options.separator, fields);
        if (const std::size_t zero = line.find('\0'); zero != std::string_view::npos) {
            const auto column =
                std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(zero), options.separator);
            throw FormatError(csv.place(number, static_cast<std::size_t>(column)) + ": a null byte; this is not text");
        }
        if (reason != nullptr) throw FormatError(csv.place(number, fields.size()) + ": " + reason);
        if (number == 1) width = fields.size();
        if (fields.size() != width) {
            refuse_line(std::to_string(fields.size()) + " fields, but line 1 has " + std::to_string(width));
        }
        if (number == 1 && options.header) {
            csv.columns.assign(fields.begin(), fields.end());
            continue;
        }
        for (std::size_t column = 0; column < width; ++column) {
            Scalar value = 0;
            const char* const problem = detail::read_number(fields[column], options.missing_as_nan, value);
            if (problem != nullptr) {
                throw FormatError(csv.place(number, column) + ": " + detail::shown(fields[column]) + " " + problem +
                                  (number == 1 ? "; if line 1 is a header, set CsvOptions::header" : ""));
            }
            values.push_back(value);
        }
    }
    csv.values = Tensor<Scalar>({values.size() / width, width});
    std::copy(values.begin(), values.end(), csv.values.data());
    return csv;
}

/// The table in the file at `path`, as `parse_csv` reads it. @throws FormatError with path,
/// ConfigurationError
template <std::floating_point Scalar>
Csv<Scalar> read_csv(const std::string& path, const CsvOptions& options = {}) {
    return parse_csv<Scalar>(read_file(path), path, options);
}

}  // namespace lockstep
