// SPDX-License-Identifier: MIT
/// @file
/// The shape of an image, as a type: what convolutions and poolings are told about the rows they see.
#pragma once

#include <cstddef>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// An image lies in a row channel after channel, each channel row after row: (channels, height, width).
template <std::size_t Channels, std::size_t Height, std::size_t Width>
struct Image {
    static_assert(Channels > 0 && Height > 0 && Width > 0, "an Image has at least one channel, row and column");

    static constexpr std::size_t channels = Channels;
    static constexpr std::size_t height = Height;
    static constexpr std::size_t width = Width;
    static constexpr std::size_t pixels = Height * Width;
    static constexpr std::size_t size = Channels * Height * Width;
};

/// Rows without any structure: `Size` channels of one number each.
template <std::size_t Size>
using Features = Image<Size, 1, 1>;

}  // namespace lockstep
