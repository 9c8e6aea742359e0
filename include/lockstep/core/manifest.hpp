// SPDX-License-Identifier: MIT
/// @file
/// What a model's flat parameter span holds, by name: the thing that ranks compare before they train.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// One named parameter: a block of the flat span, in row-major order.
struct Parameter {
    std::string name;
    std::vector<std::size_t> shape;

    std::size_t numel() const noexcept {
        std::size_t product = 1;
        for (const std::size_t extent : shape) product *= extent;
        return product;
    }
};

/// The parameters of a model in the order in which they lie in the flat span, without gaps.
using Manifest = std::vector<Parameter>;

/// Number of scalars that `manifest` describes.
inline std::size_t numel(const Manifest& manifest) noexcept {
    std::size_t sum = 0;
    for (const Parameter& parameter : manifest) sum += parameter.numel();
    return sum;
}

/// `weight (3, 2)`: how a parameter is written in messages.
inline std::string to_string(const Parameter& parameter) {
    std::string text = parameter.name + " (";
    for (std::size_t axis = 0; axis < parameter.shape.size(); ++axis) {
        text += (axis == 0 ? "" : ", ") + std::to_string(parameter.shape[axis]);
    }
    return text + ")";
}

}  // namespace lockstep
