// SPDX-License-Identifier: MIT
/// @file
/// Somebody else's bytes in a message of ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <lockstep/core/config.hpp>

namespace lockstep::detail {

/// `bytes` in quotes, cut to a length that messages can bear; bytes that no terminal should get are escaped.
inline std::string shown(std::string_view bytes) {
    constexpr std::size_t longest = 40;
    std::string text = "\"";
    for (const char letter : bytes.substr(0, longest)) {
        const auto code = static_cast<unsigned char>(letter);
        if (code >= 32 && code != 127) text += letter;
        else text += std::string("\\x") + "0123456789abcdef"[code >> 4] + "0123456789abcdef"[code & 15];
    }
    return text + (bytes.size() > longest ? "...\"" : "\"");
}

}  // namespace lockstep::detail
