// SPDX-License-Identifier: MIT
/// @file
/// IDX files, the format of MNIST: a magic number, the extents, and one byte a value. All numbers are big-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/file.hpp>
#include <lockstep/tensor/tensor.hpp>

namespace lockstep {

namespace detail {

/// The extents and the bytes of an IDX file.
struct IdxFile {
    std::string bytes;
    std::vector<std::size_t> extents;
    std::size_t first = 0;  ///< where the values begin

    unsigned char operator[](std::size_t index) const noexcept {
        return static_cast<unsigned char>(bytes[first + index]);
    }
};

/// @throws FormatError naming path, and expected and actual magic number or byte count; nothing is allocated by what a
/// header claims
inline IdxFile read_idx(const std::string& path, std::size_t dimensions) {
    IdxFile file{read_file(path), {}, 4 + 4 * dimensions};
    const auto number = [&](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t index = 0; index < 4; ++index) {
            value = value << 8 | static_cast<unsigned char>(file.bytes[at + index]);
        }
        return value;
    };
    if (file.bytes.size() < file.first) {
        throw FormatError(path + ": " + std::to_string(file.bytes.size()) + " bytes are too few for a header of " +
                          std::to_string(file.first));
    }
    // Two zeros, the type (8: unsigned bytes), the number of dimensions.
    const std::uint32_t expected = 0x800 + static_cast<std::uint32_t>(dimensions);
    if (number(0) != expected) {
        const bool gzip = number(0) >> 16 == 0x1F8B;
        throw FormatError(path + ": the magic number is " + std::to_string(number(0)) + ", not " +
                          std::to_string(expected) + (gzip ? " (it is compressed: gunzip it first)" : ""));
    }
    std::uint64_t count = 1;
    std::string extents;
    for (std::size_t index = 0; index < dimensions; ++index) {
        const std::uint64_t extent = number(4 + 4 * index);
        file.extents.push_back(static_cast<std::size_t>(extent));
        extents += (index > 0 ? " x " : "") + std::to_string(extent);
        // More than any file has; the product of three extents might wrap.
        constexpr std::uint64_t limit = std::uint64_t{1} << 48;
        count = extent == 0 || count <= limit / extent ? count * extent : limit;
    }
    if (file.bytes.size() - file.first != count) {
        throw FormatError(path + ": " + std::to_string(file.bytes.size() - file.first) + " bytes of values, not " +
                          extents + " as its header says");
    }
    return file;
}

}  // namespace detail

/// Images (rows, height, width) of 0 to 255 and a label each, from a pair of IDX files as MNIST has them.
/// @throws FormatError naming the path if a file is not what it should be, or the two do not have as many rows; or if a
///         label is not below `classes`, naming its row
template <class Scalar = float>
LabelledDataset<Scalar> labelled_from_idx(const std::string& images, const std::string& labels, int classes = 10) {
    const detail::IdxFile pixels = detail::read_idx(images, 3);
    const detail::IdxFile numbers = detail::read_idx(labels, 1);
    const std::size_t rows = pixels.extents[0];
    if (numbers.extents[0] != rows) {
        throw FormatError(labels + ": " + std::to_string(numbers.extents[0]) + " labels for the " +
                          std::to_string(rows) + " images of " + images);
    }
    std::vector<std::int32_t> targets(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        targets[row] = numbers[row];
        if (targets[row] >= classes) {
            throw FormatError(labels + ": the label of row " + std::to_string(row) + " is " +
                              std::to_string(targets[row]) + ", outside [0, " + std::to_string(classes) + ")");
        }
    }
    Tensor<Scalar> inputs({rows, pixels.extents[1], pixels.extents[2]});
    std::size_t index = 0;
    for (Scalar& value : inputs.values()) value = static_cast<Scalar>(pixels[index++]);
    return {std::move(inputs), std::move(targets)};
}

}  // namespace lockstep
