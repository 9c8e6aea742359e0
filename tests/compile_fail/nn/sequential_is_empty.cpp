// SPDX-License-Identifier: MIT
// expect: a Sequential needs at least one layer
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/sequential.hpp>

using namespace lockstep;

constexpr std::size_t right = Sequential<Relu>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Sequential<>::parameter_count;
#endif

int main() { return right != 0; }
