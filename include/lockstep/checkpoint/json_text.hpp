// SPDX-License-Identifier: MIT
/// @file
/// The few words of JSON (RFC 8259) that a safetensors header is made of: marks, strings and whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <lockstep/core/config.hpp>

namespace lockstep::detail {

/// Does `text` consist of whole UTF-8 characters (RFC 3629), none longer than need be?
inline bool is_utf8(std::string_view text) noexcept {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    for (std::size_t at = 0; at < text.size();) {
        const unsigned first = byte(at++);
        if (first < 0x80) continue;
        const std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        if (first < 0xC2 || first > 0xF4 || text.size() - at < more) return false;
        std::uint32_t code = first & (0x3FU >> more);
        for (std::size_t index = 0; index < more; ++index) {
            const unsigned next = byte(at++);
            if ((next & 0xC0U) != 0x80) return false;
            code = code << 6 | (next & 0x3FU);
        }
        const std::uint32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
        if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    }
    return true;
}

inline void append_utf8(std::string& text, std::uint32_t code) {
    const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
        add(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        add(0xE0 | code >> 12);
        add(0x80 | (code >> 6 & 0x3F));
    } else {
        add(0xF0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3F));
        add(0x80 | (code >> 6 & 0x3F));
    }
    add(0x80 | (code & 0x3F));
}

/// `text`, which is UTF-8, as a JSON string.
inline std::string json_quoted(std::string_view text) {
    std::string quoted = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') quoted += '\\';
        if (code >= 0x20) quoted += letter;
        else quoted += std::string("\\u00") + "01"[code >> 4] + "0123456789abcdef"[code & 15];
    }
    return quoted += '"';
}

/// Reads one word after another. Never more than once over the text, and nothing is kept.
class JsonText {
public:
    explicit JsonText(std::string_view text) noexcept : text_(text) {}

    std::size_t position() const noexcept { return at_; }
    bool at_end() noexcept {
        skip_space();
        return at_ == text_.size();
    }
    bool accept(char wanted) noexcept {
        if (at_end() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    /// A whole number that is not negative and fits into a size.
    std::optional<std::size_t> number() noexcept {
        if (at_end()) return {};
        const std::size_t begin = at_;
        std::size_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            const auto digit = static_cast<std::size_t>(text_[at_] - '0');
            if (value > ((std::numeric_limits<std::size_t>::max)() - digit) / 10) return {};
            value = value * 10 + digit;
        }
        const bool leading_zero = at_ - begin > 1 && text_[begin] == '0';
        if (at_ == begin || leading_zero) return {};
        return value;
    }

    /// A string, with what was escaped. Nothing if it is none, does not end or is not UTF-8.
    std::optional<std::string> string() {
        if (!accept('"')) return {};
        std::string found;
        while (at_ < text_.size()) {
            const char letter = text_[at_++];
            if (letter == '"') {
                if (!is_utf8(found)) return {};
                return found;
            }
            if (static_cast<unsigned char>(letter) < 0x20) return {};
            if (letter != '\\') found += letter;
            else if (!escaped(found)) return {};
        }
        return {};
    }

private:
    void skip_space() noexcept {
        while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
    }

    bool escaped(std::string& found) {
        if (at_ == text_.size()) return false;
        const char mark = text_[at_++];
        constexpr std::string_view marks = "\"\\/bfnrt";
        if (const std::size_t which = marks.find(mark); which != std::string_view::npos) {
            found += "\"\\/\b\f\n\r\t"[which];
            return true;
        }
        auto code = mark == 'u' ? four_digits() : std::nullopt;
        if (!code) return false;
        if (*code >= 0xD800 && *code <= 0xDBFF && text_.substr(at_, 2) == "\\u") {
            at_ += 2;
            const auto low = four_digits();
            if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
            code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
        }
        // Half of a pair is no character.
        if (*code >= 0xD800 && *code <= 0xDFFF) return false;
        append_utf8(found, *code);
        return true;
    }
    std::optional<std::uint32_t> four_digits() noexcept {
        if (text_.size() - at_ < 4) return {};
        std::uint32_t value = 0;
        for (int count = 0; count < 4; ++count) {
            const char letter = text_[at_++];
            const char lower = static_cast<char>(letter | 0x20);
            if (letter >= '0' && letter <= '9') value = value * 16 + static_cast<std::uint32_t>(letter - '0');
            else if (lower >= 'a' && lower <= 'f') value = value * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
            else return {};
        }
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace lockstep::detail
