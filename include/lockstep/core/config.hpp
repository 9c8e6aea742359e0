// SPDX-License-Identifier: MIT
/// @file
/// What the library needs from the compiler, said in one sentence when it is missing.
#pragma once

#if !defined(__cpp_exceptions)
#error "lockstep reports every error as a typed exception: compile without -fno-exceptions"
#endif

#if __cplusplus < 202002L
#error "lockstep is a C++20 library: compile with -std=c++20 or later"
#endif

#if !defined(__GNUC__)
#error "lockstep uses vector extensions of GCC and Clang: compile with g++ 12, clang++ 14 or later"
#endif
