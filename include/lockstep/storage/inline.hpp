// SPDX-License-Identifier: MIT
/// @file
/// Storage policy Inline: a fixed capacity inside the object itself.
/// Idea: no allocation at all; the buffer is where its owner is (stack, static, member).
/// Cost: the object is as large as its capacity; copies and moves both copy the values in use.
/// Choose it when: sizes are small and known at compile time, or the heap is not to be had.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep {

template <std::size_t Capacity>
struct Inline {
    static constexpr std::size_t alignment = 64;

    template <class Value>
    class buffer {
    public:
        buffer() noexcept = default;

        /// `count` values, value-initialised. @throws ShapeError if `count` exceeds the capacity
        explicit buffer(std::size_t count) : size_(count) {
            if (count > Capacity) {
                throw ShapeError("Inline<" + std::to_string(Capacity) + "> cannot hold " + std::to_string(count) +
                                 " elements");
            }
        }

        buffer(const buffer& other) noexcept : size_(other.size_) { std::copy_n(other.values_, size_, values_); }
        buffer& operator=(const buffer& other) noexcept {
            // copy_n must not be given the same range twice.
            if (this == &other) return *this;
            size_ = other.size_;
            std::copy_n(other.values_, size_, values_);
            return *this;
        }
        ~buffer() = default;

        Value* data() noexcept { return values_; }
        const Value* data() const noexcept { return values_; }
        std::size_t size() const noexcept { return size_; }

    private:
        alignas(alignment) Value values_[Capacity == 0 ? 1 : Capacity]{};
        std::size_t size_ = 0;
    };
};

}  // namespace lockstep
