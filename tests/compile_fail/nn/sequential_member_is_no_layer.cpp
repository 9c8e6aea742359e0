// SPDX-License-Identifier: MIT
// A type with most of what a layer needs, but no backward.
// expect: every member of a Sequential must be a Layer
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/sequential.hpp>

using namespace lockstep;

struct Halfway : Relu {
    static void backward();
};

constexpr std::size_t right = Sequential<Linear<4, 3>, Relu>::parameter_count;
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = Sequential<Linear<4, 3>, Halfway>::parameter_count;
#endif

int main() { return right == 0; }
