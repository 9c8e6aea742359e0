// SPDX-License-Identifier: MIT
/// @file
/// What the examples' command lines have in common. Every error names the flag and the value.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <getopt.h>

#include <lockstep/core/error.hpp>

namespace example {

using lockstep::ConfigurationError;

inline int number(const std::string& flag, std::string_view text, int low, int high) {
    int value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
        throw ConfigurationError(flag + " \"" + std::string(text) + "\" is not a whole number from " +
                                 std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
}

/// One of the words that are `known`.
inline std::string word(const std::string& flag, const std::string& text, const std::vector<std::string>& known) {
    std::string all;
    for (const std::string& each : known) {
        if (text == each) return text;
        all += (all.empty() ? "" : ", ") + each;
    }
    throw ConfigurationError(flag + " \"" + text + "\" is none of " + all);
}

using Units = std::vector<std::pair<std::string_view, double>>;

/// A number that is not negative, and one of the units: `25us`. A unit without letters may be left out.
inline double quantity(const std::string& flag, std::string_view text, const char* what, const Units& units) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const auto& [unit, factor] : units) {
        if (code == std::errc{} && rest == unit && std::isfinite(value * factor) && !std::signbit(value)) {
            return value * factor;
        }
    }
    throw ConfigurationError(flag + " \"" + std::string(text) + "\" is no " + what);
}

inline double seconds(const std::string& flag, std::string_view text) {
    return quantity(flag, text, "time such as 25us", {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
}
inline double bytes(const std::string& flag, std::string_view text) {
    return quantity(flag, text, "size such as 800, 64KiB or 1MB",
                    {{"", 1},
                     {"B", 1},
                     {"KB", 1e3},
                     {"MB", 1e6},
                     {"GB", 1e9},
                     {"KiB", 1024.0},
                     {"MiB", 1048576.0},
                     {"GiB", 1073741824.0}});
}
inline double bytes_per_second(const std::string& flag, std::string_view text) {
    return quantity(flag, text, "bandwidth such as 10GB/s",
                    {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}});
}
inline double factor(const std::string& flag, std::string_view text) {
    return quantity(flag, text, "factor such as 2.5", {{"", 1}});
}

/// Calls `take(flag, value)` for every flag of the command line; `flags` is what getopt_long asks for.
template <class Take>
void each_flag(int count, char** arguments, const option* flags, Take&& take) {
    const auto at = [&](int index) { return std::string(arguments[index]); };
    ::opterr = 0;  // We report errors ourselves.
    for (;;) {
        const int here = ::optind;
        const int found = ::getopt_long(count, arguments, ":", flags, nullptr);
        if (found == -1) break;
        if (found == ':') throw ConfigurationError(at(here) + " needs a value; see --help");
        if (found == '?') throw ConfigurationError(at(here) + " is no flag of this program; see --help");
        take(found, std::string(::optarg != nullptr ? ::optarg : ""));
    }
    if (::optind < count) throw ConfigurationError(at(::optind) + " is no flag of this program; see --help");
}

}  // namespace example
