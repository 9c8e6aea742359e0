// SPDX-License-Identifier: MIT
// A unity build: both translation units as one.
#include "one.cpp"  // NOLINT(bugprone-suspicious-include)
#include "two.cpp"  // NOLINT(bugprone-suspicious-include)
