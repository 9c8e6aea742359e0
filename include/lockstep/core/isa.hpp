// SPDX-License-Identifier: MIT
/// @file
/// Which vector instructions the running processor has; kernels compiled for each are chosen by it at run time.
#pragma once

#include <lockstep/core/config.hpp>

namespace lockstep {

/// Instruction sets with kernels of their own, narrowest first.
enum class Isa { baseline, avx2, avx512 };

/// The widest set that this processor and operating system support. Asked once.
inline Isa widest_isa() noexcept {
#if defined(__x86_64__)
    static const Isa found = [] {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")) {
            return Isa::avx512;
        }
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
        return Isa::baseline;
    }();
    return found;
#else
    return Isa::baseline;
#endif
}

}  // namespace lockstep
