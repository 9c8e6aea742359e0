// SPDX-License-Identifier: MIT
// The first layer with a size inside a nested Sequential counts; the message says what to look at.
// expect: the layers of a Sequential do not fit together
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

using namespace lockstep;

constexpr std::size_t right = Sequential<Linear<4, 3>, Sequential<Relu, Linear<3, 2>>>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Sequential<Linear<4, 3>, Sequential<Relu, Linear<5, 2>>>::parameter_count;
#endif

int main() { return right == 0; }
