// SPDX-License-Identifier: MIT
// A layer expects rows of another size than the layers before it produce.
// expect: LayerSizeMismatch<2, 32, 64>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

using namespace lockstep;

constexpr std::size_t right = Sequential<Linear<64, 32>, Relu, Linear<32, 10>>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Sequential<Linear<64, 32>, Relu, Linear<64, 10>>::parameter_count;
#endif

int main() { return right == 0; }
