// SPDX-License-Identifier: MIT
/// @file
/// Where the library says what is no error yet.
#pragma once

#include <cstdio>
#include <string>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// One line on the standard error stream, written at once so that ranks do not mix theirs.
inline void report_to_stderr(const std::string& line) { std::fputs(("lockstep: " + line + "\n").c_str(), stderr); }

}  // namespace lockstep
