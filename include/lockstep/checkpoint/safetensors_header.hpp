// SPDX-License-Identifier: MIT
/// @file
/// The header of a safetensors file: a JSON object that names each tensor's type, shape and place. Strict, and no number
/// in it is believed before it was compared with the file. Format: https://github.com/huggingface/safetensors
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/checkpoint/json_text.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/shown.hpp>

namespace lockstep {

/// One tensor of a file, and which of the bytes behind the header are its own: numbers in row-major order, little end
/// first.
struct SavedTensor {
    std::string name{};
    std::string dtype{};  ///< as in "F32"
    std::vector<std::size_t> shape{};
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// `"0.weight" (F32, shape (64, 10))`: how a tensor is written in messages.
inline std::string to_string(const SavedTensor& tensor) {
    std::string text = detail::shown(tensor.name) + " (" + tensor.dtype + ", shape (";
    for (std::size_t axis = 0; axis < tensor.shape.size() && axis < 8; ++axis) {
        text += (axis == 0 ? "" : ", ") + std::to_string(tensor.shape[axis]);
    }
    return text + (tensor.shape.size() > 8 ? ", ...))" : "))");
}

namespace detail {

/// Bytes of a number of this type, 0 for a type that is unknown.
inline std::size_t size_of_dtype(std::string_view dtype) noexcept {
    constexpr std::array<std::pair<std::string_view, std::size_t>, 15> known{{{"BOOL", 1},
                                                                              {"U8", 1},
                                                                              {"I8", 1},
                                                                              {"F8_E5M2", 1},
                                                                              {"F8_E4M3", 1},
                                                                              {"I16", 2},
                                                                              {"U16", 2},
                                                                              {"F16", 2},
                                                                              {"BF16", 2},
                                                                              {"I32", 4},
                                                                              {"U32", 4},
                                                                              {"F32", 4},
                                                                              {"F64", 8},
                                                                              {"I64", 8},
                                                                              {"U64", 8}}};
    for (const auto& [name, size] : known) {
        if (name == dtype) return size;
    }
    return 0;
}

struct SafetensorsHeader {
    std::vector<SavedTensor> tensors{};  ///< by place
    std::map<std::string, std::string> metadata{};
};

class SafetensorsHeaderParser {
public:
    /// `size`: how many bytes follow the header.
    SafetensorsHeaderParser(const std::string& path, std::string_view text, std::size_t size)
        : path_(path), json_(text), size_(size) {}

    /// @throws FormatError naming the path and the tensor, or the byte of the header, at fault
    SafetensorsHeader run() {
        SafetensorsHeader header;
        std::set<std::string> names;
        read_object([&](std::string name) {
            if (!names.insert(name).second) refuse(shown(name) + " is there twice");
            if (name == "__metadata__") read_metadata(header.metadata);
            else header.tensors.push_back(read_tensor(std::move(name)));
        });
        if (!json_.at_end()) refuse("something follows it");
        check_places(header.tensors);
        return header;
    }

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw FormatError(path_ + ": the header of the safetensors file: " + what + " (before byte " +
                          std::to_string(json_.position()) + " of it)");
    }
    [[noreturn]] void refuse(const SavedTensor& tensor, const std::string& what) const {
        throw FormatError(path_ + ": tensor " + to_string(tensor) + " " + what);
    }

    void expect(char wanted) {
        if (!json_.accept(wanted)) refuse(std::string("'") + wanted + "' is missing");
    }
    std::string read_string() {
        auto text = json_.string();
        if (!text) refuse("a text in quotes is missing, or is no good UTF-8");
        return *std::move(text);
    }
    std::size_t read_number() {
        const auto number = json_.number();
        if (!number) refuse("a whole number is missing, or is too large");
        return *number;
    }
    /// `read(key)` for every key of an object.
    template <class Read>
    void read_object(const Read& read) {
        expect('{');
        if (json_.accept('}')) return;
        do {
            std::string key = read_string();
            expect(':');
            read(std::move(key));
        } while (json_.accept(','));
        expect('}');
    }
    std::vector<std::size_t> read_numbers() {
        std::vector<std::size_t> numbers;
        expect('[');
        if (json_.accept(']')) return numbers;
        do numbers.push_back(read_number());
        while (json_.accept(','));
        expect(']');
        return numbers;
    }
    void read_metadata(std::map<std::string, std::string>& metadata) {
        read_object([&](std::string key) {
            if (!metadata.emplace(key, read_string()).second) refuse("metadata " + shown(key) + " is there twice");
        });
    }

    SavedTensor read_tensor(std::string name) {
        SavedTensor tensor{.name = std::move(name)};
        std::set<std::string> keys;
        read_object([&](const std::string& key) {
            if (!keys.insert(key).second) refuse(shown(key) + " of " + shown(tensor.name) + " is there twice");
            if (key == "dtype") {
                tensor.dtype = read_string();
            } else if (key == "shape") {
                tensor.shape = read_numbers();
            } else if (key == "data_offsets") {
                const auto offsets = read_numbers();
                if (offsets.size() != 2) refuse("data_offsets of " + shown(tensor.name) + " are not two numbers");
                tensor.begin = offsets[0];
                tensor.end = offsets[1];
            } else {
                refuse("a tensor has no " + shown(key));
            }
        });
        if (keys.size() != 3) refuse(shown(tensor.name) + " lacks one of dtype, shape and data_offsets");
        return tensor;
    }

    /// Every tensor as long as its shape says, one after the other, from the first byte to the last.
    void check_places(std::vector<SavedTensor>& tensors) const {
        for (const SavedTensor& tensor : tensors) {
            const std::string place = std::to_string(tensor.begin) + " to " + std::to_string(tensor.end);
            if (tensor.begin > tensor.end) refuse(tensor, "has its offsets the wrong way round: " + place);
            if (tensor.end > size_) {
                refuse(tensor, "is at bytes " + place + ", and " + std::to_string(size_) + " follow the header");
            }
            const std::size_t width = size_of_dtype(tensor.dtype);
            if (width == 0) {
                throw FormatError(path_ + ": tensor " + shown(tensor.name) + " is of the unknown type " +
                                  shown(tensor.dtype));
            }
            std::size_t bytes = std::count(tensor.shape.begin(), tensor.shape.end(), std::size_t{0}) > 0 ? 0 : width;
            bool fits = true;
            for (const std::size_t extent : tensor.shape) fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
            if (!fits || bytes != tensor.end - tensor.begin) {
                refuse(tensor, "takes " + (fits ? std::to_string(bytes) : "more than 2^64") +
                                   " bytes, and its offsets are " + place);
            }
        }
        std::stable_sort(tensors.begin(), tensors.end(), [](const SavedTensor& left, const SavedTensor& right) {
            return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
        });
        std::size_t end = 0;
        for (const SavedTensor& tensor : tensors) {
            if (tensor.begin != end) {
                refuse(tensor, "begins at byte " + std::to_string(tensor.begin) + ", and the one before it ends at " +
                                   std::to_string(end));
            }
            end = tensor.end;
        }
        if (end != size_) {
            throw FormatError(path_ + ": tensors end at byte " + std::to_string(end) + ", and " +
                              std::to_string(size_) + " follow the header");
        }
    }

    const std::string& path_;
    JsonText json_;
    std::size_t size_;
};

}  // namespace detail

}  // namespace lockstep
