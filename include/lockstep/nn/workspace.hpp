// SPDX-License-Identifier: MIT
/// @file
/// Scratch memory of a model: grows when a larger batch comes, never shrinks, and is nobody's state.
#pragma once

#include <cstddef>
#include <span>

#include <lockstep/core/config.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep {

namespace detail {

/// Room for `scalars` scalars in a workspace, so that what comes after begins on a cache line of its own.
constexpr std::size_t whole_lines(std::size_t scalars) noexcept { return (scalars + 15) / 16 * 16; }

}  // namespace detail

/// Copies start empty: what is in it has no meaning between two calls. Moves take the memory along.
template <class Scalar>
class Workspace {
public:
    Workspace() noexcept = default;
    Workspace(const Workspace&) noexcept {}
    Workspace(Workspace&&) noexcept = default;
    Workspace& operator=(const Workspace&) noexcept { return *this; }
    Workspace& operator=(Workspace&&) noexcept = default;
    ~Workspace() = default;

    /// Room for `count` scalars with any values. Allocates only if it was never asked for as many.
    std::span<Scalar> reserve(std::size_t count) {
        if (count > buffer_.size()) {
            // The old memory goes first: the two are never needed together.
            buffer_ = {};
            buffer_ = Aligned::buffer<Scalar>(count);
        }
        return {buffer_.data(), count};
    }

private:
    Aligned::buffer<Scalar> buffer_;
};

}  // namespace lockstep
