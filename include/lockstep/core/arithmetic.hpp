// SPDX-License-Identifier: MIT
/// @file
/// The floating-point mode of a thread: rounding and denormals.
#pragma once

#include <cstdint>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// While it lives, this thread computes as IEEE 754 says by default: rounds to nearest, and keeps denormals. Flushing to
/// zero and rounding are settings of each thread: ranks that do the same sums must do them in the same mode.
/// Nothing is changed where the mode is the default one already, and the caller's comes back in any case.
class StandardArithmetic {
public:
    StandardArithmetic() noexcept : callers_(mode()) {
        if ((callers_ & relevant) != 0) set_mode(callers_ & ~relevant);
    }
    ~StandardArithmetic() {
        if ((callers_ & relevant) != 0) set_mode(callers_);
    }
    StandardArithmetic(const StandardArithmetic&) = delete;
    StandardArithmetic& operator=(const StandardArithmetic&) = delete;

private:
#if defined(__x86_64__)
    using Mode = std::uint32_t;
    static constexpr Mode relevant = 0x8000 | 0x6000 | 0x0040;  // flush to zero, rounding, denormals are zeros
    static Mode mode() noexcept { return __builtin_ia32_stmxcsr(); }
    static void set_mode(Mode mode) noexcept { __builtin_ia32_ldmxcsr(mode); }
#elif defined(__aarch64__)
    using Mode = std::uint64_t;
    static constexpr Mode relevant = 0x01C00000;  // flush to zero, rounding
    static Mode mode() noexcept {
        Mode mode;
        asm volatile("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    static void set_mode(Mode mode) noexcept { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
    using Mode = std::uint32_t;
    static constexpr Mode relevant = 0;
    static Mode mode() noexcept { return 0; }
    static void set_mode(Mode) noexcept {}
#endif

    Mode callers_;
};

}  // namespace lockstep
