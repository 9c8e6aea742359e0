// SPDX-License-Identifier: MIT
/// @file
/// Storage policy Borrowed: a view of memory that somebody else owns.
/// Idea: wrap what exists (a tensor of another library, a part of an arena) without a copy.
/// Cost: none; copies are views of the same values. The owner must outlive every view.
/// Choose it when: the memory already has an owner.
#pragma once

#include <cstddef>
#include <span>

#include <lockstep/core/config.hpp>

namespace lockstep {

struct Borrowed {
    /// A view promises no more than the alignment of its values.
    static constexpr std::size_t alignment = 1;

    template <class Value>
    class buffer {
    public:
        buffer() noexcept = default;
        explicit buffer(std::span<Value> values) noexcept : values_(values) {}

        /// A view is as constant as its element type, not as the view itself.
        Value* data() const noexcept { return values_.data(); }
        std::size_t size() const noexcept { return values_.size(); }

    private:
        std::span<Value> values_;
    };
};

}  // namespace lockstep
