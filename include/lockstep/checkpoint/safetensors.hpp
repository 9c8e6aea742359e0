// SPDX-License-Identifier: MIT
/// @file
/// Safetensors: named tensors and a few texts in one file that many frameworks read. Nothing in it can be executed.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/checkpoint/safetensors_header.hpp>
#include <lockstep/core/digest.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/shown.hpp>
#include <lockstep/data/byte_order.hpp>
#include <lockstep/data/file.hpp>

namespace lockstep {

/// "F32" for float, "I64" for std::int64_t, ...
template <class Scalar>
    requires std::integral<Scalar> || std::floating_point<Scalar> std::string dtype_of() {
        if constexpr (std::same_as<Scalar, bool>) return "BOOL";
        const char kind = std::floating_point<Scalar> ? 'F' : std::unsigned_integral<Scalar> ? 'U' : 'I';
        return kind + std::to_string(sizeof(Scalar) * 8);
    }

/// The content of a safetensors file: put together by `add` and `set` and written, or read and looked at.
///
///     Safetensors file;
///     file.add("weight", {64, 10}, std::span<const float>(weights));
///     file.set("made by", "me");
///     file.write("weights.safetensors");
///
///     const Safetensors file = Safetensors::read("weights.safetensors");
///     file.copy("weight", {64, 10}, std::span<float>(weights));
class Safetensors {
public:
    Safetensors() = default;

    /// Reads and checks the whole file. Memory is in proportion to its real size, whatever it claims.
    /// @throws FormatError naming path and tensor: it cannot be read, its header is none, a tensor's offsets do not fit
    ///         its type and shape, or the file; tensors overlap, or bytes belong to none
    static Safetensors read(const std::string& path) {
        Safetensors file;
        file.path_ = path;
        file.bytes_ = read_file(path);
        const std::string_view bytes = file.bytes_;
        if (bytes.size() < 8) {
            throw FormatError(path + ": is no safetensors file: " + std::to_string(bytes.size()) +
                              " bytes do not even hold the length of a header");
        }
        std::uint64_t length = 0;
        for (std::size_t at = 8; at-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[at]);
        if (length > bytes.size() - 8) {
            throw FormatError(path + ": is no safetensors file, or cut short: a header of " + std::to_string(length) +
                              " bytes in a file of " + std::to_string(bytes.size()));
        }
        file.first_ = 8 + static_cast<std::size_t>(length);
        auto header = detail::SafetensorsHeaderParser(path, bytes.substr(8, static_cast<std::size_t>(length)),
                                                      bytes.size() - file.first_)
                          .run();
        file.tensors_ = std::move(header.tensors);
        file.metadata_ = std::move(header.metadata);
        return file;
    }

    /// Appends a tensor. @throws ShapeError if there are not as many values as the shape says; ConfigurationError for a
    /// name that is no UTF-8, or is taken
    template <class Scalar>
    void add(const std::string& name, std::vector<std::size_t> shape, std::span<const Scalar> values) {
        if (name == "__metadata__" || !detail::is_utf8(name) || find(name) != nullptr) {
            throw ConfigurationError("no tensor of a safetensors file can be called " + detail::shown(name) +
                                     ": that is reserved, taken or no UTF-8");
        }
        std::size_t size = 1;
        for (const std::size_t extent : shape) size *= extent;
        SavedTensor tensor{name, dtype_of<Scalar>(), std::move(shape), data().size(), data().size()};
        if (size != values.size()) {
            throw ShapeError("tensor " + to_string(tensor) + " was given " + std::to_string(values.size()) + " values");
        }
        tensor.end += values.size_bytes();
        const auto append = [this](std::span<const Scalar> little) {
            bytes_.append(reinterpret_cast<const char*>(little.data()), little.size_bytes());
        };
        if constexpr (std::endian::native == std::endian::little) {
            append(values);
        } else {
            std::vector<Scalar> turned(values.begin(), values.end());
            detail::change_order(std::span<Scalar>(turned), std::endian::little);
            append(turned);
        }
        tensors_.push_back(std::move(tensor));
    }
    /// A text beside the tensors. @throws ConfigurationError unless both are UTF-8
    void set(const std::string& key, const std::string& text) {
        if (!detail::is_utf8(key) || !detail::is_utf8(text)) {
            throw ConfigurationError("metadata " + detail::shown(key) + " of a safetensors file is no UTF-8");
        }
        metadata_[key] = text;
    }

    /// Replaces the file at `path`, all or nothing (data/file.hpp). @throws FormatError if it cannot be written
    void write(const std::string& path) const {
        std::string header = "{";
        if (!metadata_.empty()) {
            header += "\"__metadata__\":{";
            for (const auto& [key, text] : metadata_) {
                header += detail::json_quoted(key) + ':' + detail::json_quoted(text) + ',';
            }
            header.back() = '}';
            header += ',';
        }
        for (const SavedTensor& tensor : tensors_) {
            std::string shape;
            for (const std::size_t extent : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
            header += detail::json_quoted(tensor.name) + ":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" + shape +
                      "],\"data_offsets\":[" + std::to_string(tensor.begin) + ',' + std::to_string(tensor.end) + "]},";
        }
        if (header.size() > 1) header.pop_back();
        header += '}';
        // Numbers begin at a multiple of 8, so that the file may be mapped.
        header.append((8 - header.size() % 8) % 8, ' ');
        std::string length;
        for (int shift = 0; shift < 64; shift += 8) length += static_cast<char>(std::uint64_t{header.size()} >> shift);
        replace_file(path, {length, header, data()});
    }

    /// By place in the file.
    const std::vector<SavedTensor>& tensors() const noexcept { return tensors_; }
    const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
    /// The tensor of that name, or nullptr.
    const SavedTensor* find(std::string_view name) const noexcept {
        const auto found =
            std::find_if(tensors_.begin(), tensors_.end(), [&](const SavedTensor& each) { return each.name == name; });
        return found == tensors_.end() ? nullptr : &*found;
    }

    /// Copies a tensor's values into `values`. @throws FormatError naming path and tensor if it is not there, or of another
    /// type or shape: nothing is cast or reshaped
    template <class Scalar>
    void copy(const std::string& name, const std::vector<std::size_t>& shape, std::span<Scalar> values) const {
        const SavedTensor* const tensor = find(name);
        if (tensor == nullptr) throw FormatError(path_ + ": has no tensor " + detail::shown(name));
        if (tensor->dtype != dtype_of<Scalar>() || tensor->shape != shape ||
            tensor->end - tensor->begin != values.size_bytes()) {
            throw FormatError(path_ + ": tensor " + to_string(*tensor) + " is not " +
                              to_string(SavedTensor{.name = name, .dtype = dtype_of<Scalar>(), .shape = shape}));
        }
        if (values.empty()) return;
        std::memcpy(values.data(), data().data() + tensor->begin, values.size_bytes());
        detail::change_order(values, std::endian::little);
    }

    /// Of all tensors' bytes, as 16 hexadecimal digits (core/digest.hpp).
    std::string digest() const { return hex_digest(std::span<const char>(data())); }

private:
    std::string_view data() const noexcept { return std::string_view(bytes_).substr(first_); }

    std::string path_ = "this file, which was never written";
    std::string bytes_;      ///< the file as it was read, or tensors alone
    std::size_t first_ = 0;  ///< where in them the tensors begin
    std::vector<SavedTensor> tensors_;
    std::map<std::string, std::string> metadata_;
};

}  // namespace lockstep
