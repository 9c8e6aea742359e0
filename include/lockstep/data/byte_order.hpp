// SPDX-License-Identifier: MIT
/// @file
/// Numbers of a file in the byte order of this machine.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include <lockstep/core/config.hpp>

namespace lockstep::detail {

/// Turns the bytes of each of `values` around unless the machine's order is `order`; the other way too.
template <class Scalar>
void change_order(std::span<Scalar> values, std::endian order) noexcept {
    if (sizeof(Scalar) == 1 || order == std::endian::native) return;
    auto* const bytes = reinterpret_cast<unsigned char*>(values.data());
    for (std::size_t at = 0; at < values.size_bytes(); at += sizeof(Scalar)) {
        std::reverse(bytes + at, bytes + at + sizeof(Scalar));
    }
}

}  // namespace lockstep::detail
