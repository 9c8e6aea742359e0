// SPDX-License-Identifier: MIT
// A layer where the loss belongs.
// expect: the second argument of a Network must be a Loss
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>

using namespace lockstep;

constexpr std::size_t right = Network<Linear<2, 2>, CrossEntropy>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Network<Linear<2, 2>, Relu>::parameter_count;
#endif

int main() { return right == 0; }
