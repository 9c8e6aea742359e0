// SPDX-License-Identifier: MIT
// The arguments of a Network in the wrong order.
// expect: the architecture of a Network must be a Layer
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>

using namespace lockstep;

constexpr std::size_t right = Network<Linear<2, 2>, CrossEntropy>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Network<CrossEntropy, Linear<2, 2>>::parameter_count;
#endif

int main() { return right == 0; }
