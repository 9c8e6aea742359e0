// SPDX-License-Identifier: MIT
/// @file
/// What the options and spans of every optimizer must hold.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep::detail {

/// @throws ConfigurationError naming optimizer and option if `value` is negative or not finite
inline void check_not_negative(const char* optimizer, const char* name, double value) {
    if (std::isfinite(value) && value >= 0) return;
    throw ConfigurationError(std::string(optimizer) + ": " + name + " must be finite and not negative, not " +
                             std::to_string(value));
}

/// @throws ConfigurationError naming optimizer and option unless 0 <= value < 1
inline void check_fraction(const char* optimizer, const char* name, double value) {
    if (value >= 0 && value < 1) return;
    throw ConfigurationError(std::string(optimizer) + ": " + name + " must be at least 0 and below 1, not " +
                             std::to_string(value));
}

/// @throws ShapeError if the two sizes differ
inline void check_sizes(const char* optimizer, std::size_t parameters, std::size_t gradients) {
    if (parameters == gradients) return;
    throw ShapeError(std::string(optimizer) + ": " + std::to_string(parameters) + " parameters and " +
                     std::to_string(gradients) + " gradients");
}

}  // namespace lockstep::detail
