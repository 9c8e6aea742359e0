// SPDX-License-Identifier: MIT
/// @file
/// npy files, numpy's format for one array: a magic text, a version, a header that is a Python dictionary, the numbers.
/// Format: numpy.lib.format, versions 1.0, 2.0 and 3.0.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/shown.hpp>
#include <lockstep/data/byte_order.hpp>
#include <lockstep/data/file.hpp>
#include <lockstep/tensor/tensor.hpp>

namespace lockstep {

namespace detail {

/// What the header of an npy file says, and where the numbers begin.
struct NpyHeader {
    std::string descr;
    bool fortran_order = false;
    std::vector<std::size_t> extents;
    std::size_t first = 0;
};

/// Reads the dictionary as numpy writes it: three keys, each once, and nothing else.
class NpyParser {
public:
    NpyParser(const std::string& path, std::string_view text) : path_(path), text_(text) {}

    /// @throws FormatError naming path and position
    NpyHeader run() {
        NpyHeader header;
        bool has_descr = false;
        bool has_order = false;
        bool has_shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !has_descr) {
                header.descr = quoted();
                has_descr = true;
            } else if (key == "fortran_order" && !has_order) {
                header.fortran_order = truth();
                has_order = true;
            } else if (key == "shape" && !has_shape) {
                header.extents = extents();
                has_shape = true;
            } else {
                refuse("the key " + shown(key) + " is unknown, or there twice");
            }
            if (!accept(',') && peek() != '}') refuse("',' or '}' is missing");
        }
        peek();
        if (at_ < text_.size()) refuse("something follows the dictionary");
        if (!has_descr || !has_order || !has_shape) refuse("descr, fortran_order or shape is missing");
        return header;
    }

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw FormatError(path_ + ": the header of the npy file is no description of an array: " + what + " (at byte " +
                          std::to_string(at_) + " of the header)");
    }
    /// The next character that is no space; 0 at the end.
    char peek() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char wanted) {
        if (peek() != wanted) return false;
        ++at_;
        return true;
    }
    void expect(char wanted) {
        if (!accept(wanted)) refuse(std::string("'") + wanted + "' is missing");
    }
    std::string quoted() {
        const char mark = peek();
        // A list here describes rows of named fields.
        if (mark == '[') refuse("arrays of records are not supported");
        if (mark != '\'' && mark != '"') refuse("a quoted text is missing");
        const std::size_t end = text_.find(mark, at_ + 1);
        if (end == std::string_view::npos || end - at_ > 40) refuse("a quoted text does not end");
        const std::string found(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return found;
    }
    bool truth() {
        peek();
        for (const bool value : {true, false}) {
            const std::string_view word = value ? "True" : "False";
            if (text_.substr(at_, word.size()) != word) continue;
            at_ += word.size();
            return value;
        }
        refuse("True or False is missing");
    }
    std::vector<std::size_t> extents() {
        std::vector<std::size_t> found;
        expect('(');
        while (!accept(')')) {
            if (found.size() == Shape::max_ndim) refuse("more than 4 axes are not supported");
            found.push_back(number());
            if (!accept(',')) {
                // Python's parentheses around one number are no tuple.
                if (found.size() == 1 || peek() != ')') refuse("',' is missing in the shape");
            }
        }
        return found;
    }
    std::size_t number() {
        peek();
        std::uint64_t value = 0;
        const std::size_t begin = at_;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            if (value > (std::uint64_t{1} << 48)) refuse("an extent is larger than any file");
            value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
        }
        if (at_ == begin) refuse("an extent is no number");
        return static_cast<std::size_t>(value);
    }

    const std::string& path_;
    std::string_view text_;
    std::size_t at_ = 0;
};

/// @throws FormatError naming `path`; nothing is allocated by what the file claims
inline NpyHeader parse_npy_header(const std::string& path, std::string_view bytes) {
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
    if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6)) {
        throw FormatError(path + ": is no npy file: it does not begin with \\x93NUMPY and a version");
    }
    const std::size_t version = byte(6);
    if (version < 1 || version > 3 || byte(7) != 0) {
        throw FormatError(path + ": version " + std::to_string(version) + "." + std::to_string(byte(7)) +
                          " of the npy format is none of 1.0, 2.0, 3.0");
    }
    // The length of the header takes two bytes in version 1, four since.
    const std::size_t begin = version == 1 ? 10 : 12;
    std::size_t length = bytes.size() >= begin ? byte(8) + (byte(9) << 8) : bytes.size();
    if (version > 1 && bytes.size() >= begin) length += (byte(10) << 16) + (byte(11) << 24);
    if (bytes.size() < begin || length > bytes.size() - begin) {
        throw FormatError(path + ": is cut short: a header of " + std::to_string(length) +
                          " bytes does not fit into a file of " + std::to_string(bytes.size()));
    }
    NpyHeader header = NpyParser(path, bytes.substr(begin, length)).run();
    header.first = begin + length;
    return header;
}

/// As in '<f4', without the byte order.
template <class Scalar>
std::string npy_type() {
    const char kind = std::floating_point<Scalar> ? 'f' : std::unsigned_integral<Scalar> ? 'u' : 'i';
    return kind + std::to_string(sizeof(Scalar));
}

inline Shape shape_of_extents(const std::vector<std::size_t>& extents) {
    switch (extents.size()) {
        // One number without an axis: a tensor of one element.
        case 0: return {1};
        case 1: return {extents[0]};
        case 2: return {extents[0], extents[1]};
        case 3: return {extents[0], extents[1], extents[2]};
        default: return {extents[0], extents[1], extents[2], extents[3]};
    }
}

}  // namespace detail

/// The array in the npy file at `path`, in row-major order whatever its own, in our byte order whatever its own.
/// An array without axes (one number) becomes a tensor of shape (1).
/// @throws FormatError naming the path, and what is wrong: the type of its numbers is not Scalar's (nothing is cast), the
///         header is no header, there are fewer or more bytes than the shape asks for
template <class Scalar>
    requires std::integral<Scalar> || std::floating_point<Scalar> Tensor<Scalar> read_npy(const std::string& path) {
        const std::string bytes = read_file(path);
        const detail::NpyHeader header = detail::parse_npy_header(path, bytes);
        const std::string type = detail::npy_type<Scalar>();
        const char order = header.descr.empty() ? '\0' : header.descr[0];
        const bool known = order == '<' || order == '>' || (order == '|' && sizeof(Scalar) == 1);
        if (!known || header.descr.substr(1) != type) {
            throw FormatError(path + ": holds numbers of type " + detail::shown(header.descr) + ", not \"" +
                              (sizeof(Scalar) == 1 ? "|" : "<") + type + "\"");
        }
        Shape shape;
        try {
            shape = detail::shape_of_extents(header.extents);
        } catch (const ShapeError& error) {
            throw FormatError(path + ": " + error.what());
        }
        const std::size_t there = bytes.size() - header.first;
        if (there % sizeof(Scalar) != 0 || there / sizeof(Scalar) != shape.numel()) {
            throw FormatError(path + ": " + std::to_string(there) + " bytes of numbers are no array of shape " +
                              shape.text() + " of " + detail::shown(header.descr));
        }
        Tensor<Scalar> array(shape);
        if (shape.numel() == 0) return array;
        std::memcpy(array.data(), bytes.data() + header.first, there);
        detail::change_order(array.values(), order == '>' ? std::endian::big : std::endian::little);
        if (!header.fortran_order) return array;

        // In the file the first axis runs fastest; `place` is where the next number of the result is found.
        Tensor<Scalar> turned(shape);
        std::vector<std::size_t> index(shape.ndim(), 0);
        for (Scalar& value : turned.values()) {
            std::size_t place = 0;
            for (std::size_t axis = shape.ndim(); axis-- > 0;) place = place * shape.extent(axis) + index[axis];
            value = array.data()[place];
            for (std::size_t axis = shape.ndim(); axis-- > 0 && ++index[axis] == shape.extent(axis);) index[axis] = 0;
        }
        return turned;
    }

/// Writes an array that `numpy.load` opens, in version 1.0. The file is replaced when all is written, not before.
/// @throws FormatError naming the path if it cannot be written; then what was there before is still there
template <class Scalar, class Storage>
void write_npy(const std::string& path, const Tensor<Scalar, Storage>& array) {
    using Number = std::remove_const_t<Scalar>;
    std::string shape;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape += std::to_string(array.extent(axis)) + ", ";
    // A tensor without axes has no elements: numpy's would have one.
    if (array.ndim() == 0) shape = "0, ";
    const char order = sizeof(Number) == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
    std::string header = "{'descr': '";
    header += order + detail::npy_type<Number>() + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    // The numbers begin at a multiple of 64, so that they may be mapped.
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size() & 0xFF);
    bytes += static_cast<char>(header.size() >> 8);
    bytes += header;
    replace_file(path, {bytes, {reinterpret_cast<const char*>(array.data()), array.numel() * sizeof(Number)}});
}

}  // namespace lockstep
