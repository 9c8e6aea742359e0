// SPDX-License-Identifier: MIT
/// @file
/// What losses, metrics and layers ask of labels and numbers that come from data, and how an error names a bad one.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <system_error>

#include <lockstep/core/error.hpp>

namespace lockstep {

/// Where a label to ignore can be named: none is ignored. As a label it is bad like any negative one.
inline constexpr std::int32_t no_label = (std::numeric_limits<std::int32_t>::min)();

namespace detail {

/// The shortest text that reads back as `value`.
template <std::floating_point Scalar>
std::string text_of(Scalar value) {
    std::array<char, 64> text{};
    const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
    return std::string(text.data(), written.ec == std::errc{} ? written.ptr : text.data());
}

/// Is a row with this label left out?
constexpr bool is_ignored(std::int32_t label, std::int32_t ignored) noexcept {
    return label == ignored && ignored != no_label;
}

/// @throws ShapeError, in the name of `who`, for a label outside [0, classes) that is not `ignored`: names row and label
inline void check_labels(const char* who, std::span<const std::int32_t> labels, std::size_t classes,
                         std::int32_t ignored = no_label) {
    for (std::size_t row = 0; row < labels.size(); ++row) {
        // As an unsigned number a negative label is larger than any.
        if (static_cast<std::size_t>(labels[row]) < classes || is_ignored(labels[row], ignored)) continue;
        throw ShapeError(std::string(who) + ": the label of row " + std::to_string(row) + " is " +
                         std::to_string(labels[row]) + ", outside [0, " + std::to_string(classes) + ")");
    }
}

}  // namespace detail
}  // namespace lockstep
