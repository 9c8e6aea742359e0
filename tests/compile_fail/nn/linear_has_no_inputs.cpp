// SPDX-License-Identifier: MIT
// expect: a Linear layer needs at least one input and at least one output
#include <lockstep/nn/linear.hpp>

using namespace lockstep;

constexpr std::size_t right = Linear<1, 1>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Linear<0, 1>::parameter_count;
#endif

int main() { return right == 0; }
