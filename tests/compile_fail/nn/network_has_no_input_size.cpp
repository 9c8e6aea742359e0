// SPDX-License-Identifier: MIT
// Nothing says how many inputs a row has.
// expect: a Network needs at least one layer that fixes the number of inputs
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/mean_squared_error.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>

using namespace lockstep;

constexpr std::size_t right = Network<Sequential<Relu, Linear<2, 2>>, MeanSquaredError>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Network<Sequential<Relu, Tanh>, MeanSquaredError>::parameter_count;
#endif

int main() { return right == 0; }
