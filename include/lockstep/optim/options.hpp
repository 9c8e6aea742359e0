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

/// How many parameters an optimizer has state for, once it has any.
class StateSize {
public:
    /// Calls `make()` the first time, and fixes the size if that has not thrown.
    /// @throws ShapeError if it was another number before
    template <class Make>
    void fix(const char* optimizer, std::size_t size, const Make& make) {
        if (fixed_ && size != size_) {
            throw ShapeError(std::string(optimizer) + " has the state of " + std::to_string(size_) +
                             " parameters and cannot step " + std::to_string(size));
        }
        if (fixed_) return;
        make();
        size_ = size;
        fixed_ = true;
    }

private:
    std::size_t size_ = 0;
    bool fixed_ = false;
};

}  // namespace lockstep::detail
