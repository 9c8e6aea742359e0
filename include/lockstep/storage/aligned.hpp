// SPDX-License-Identifier: MIT
/// @file
/// Storage policy Aligned: the heap, at 64-byte boundaries.
/// Idea: one allocation a buffer, aligned to cache lines and to the widest vectors.
/// Cost: an allocation at construction and at each copy; moves are free.
/// Choose it when: nothing speaks for another; it is the default.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>

namespace lockstep {

namespace detail {

/// Bytes of `count` values, or ShapeError where that number does not exist or no object may be that large.
template <class Value>
constexpr std::size_t bytes_of(std::size_t count) {
    constexpr std::size_t limit = static_cast<std::size_t>(-1) / 2;
    if (count > limit / sizeof(Value)) {
        throw ShapeError("a buffer of " + std::to_string(count) + " elements exceeds the address space");
    }
    return count * sizeof(Value);
}

}  // namespace detail

struct Aligned {
    /// Bytes between the start of every buffer and an address of 0.
    static constexpr std::size_t alignment = 64;

    template <class Value>
    class buffer {
    public:
        buffer() noexcept = default;

        /// `count` values, value-initialised. @throws ShapeError, std::bad_alloc
        explicit buffer(std::size_t count) : size_(count) {
            if (count == 0) return;
            const std::size_t bytes = detail::bytes_of<Value>(count);
            memory_.reset(static_cast<Value*>(::operator new (bytes, std::align_val_t{alignment})));
            std::uninitialized_value_construct_n(memory_.get(), count);
        }

        buffer(const buffer& other) : buffer(other.size_) { std::copy_n(other.data(), size_, data()); }
        buffer(buffer&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
        buffer& operator=(buffer other) noexcept {
            std::swap(memory_, other.memory_);
            std::swap(size_, other.size_);
            return *this;
        }
        ~buffer() = default;

        Value* data() noexcept { return memory_.get(); }
        const Value* data() const noexcept { return memory_.get(); }
        std::size_t size() const noexcept { return size_; }

    private:
        struct Release {
            void operator()(Value* pointer) const noexcept { ::operator delete (pointer, std::align_val_t{alignment}); }
        };
        static_assert(std::is_trivially_destructible_v<Value>, "buffers hold plain numbers");

        std::unique_ptr<Value, Release> memory_;
        std::size_t size_ = 0;
    };
};

}  // namespace lockstep
