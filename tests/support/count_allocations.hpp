// SPDX-License-Identifier: MIT
/// @file
/// Counts every allocation of the program that includes it, by thread. Include it in one source file of a program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace test {

/// Of this thread, that is to say of this rank.
inline thread_local std::size_t allocations = 0;

inline void* allocate(std::size_t bytes, std::size_t alignment) {
    ++allocations;
    void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace test

// Inlined, new and free look like a mistake to the compiler.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return test::allocate(bytes, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return test::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
