// SPDX-License-Identifier: MIT
// expect: the smoothing of a CrossEntropyWith is a std::ratio from 0 to 1
// expect: the delta of a Huber is a std::ratio above 0
// expect: a loss that is to be Weighted needs a member check\(targets, rows, output_size\)
// expect: the scalar type does not tell all indices of the Embedding apart
#include <span>

#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/embedding.hpp>
#include <lockstep/nn/huber.hpp>
#include <lockstep/nn/loss.hpp>
#include <lockstep/nn/weighted.hpp>

using namespace lockstep;

/// A loss, but nobody can ask it whether it could take some targets.
struct Unchecked {
    template <class>
    using targets_type = std::span<const int>;
    static LossSum evaluate(MatrixView<const float>, std::span<const int>) { return {}; }
    static LossSum backward(MatrixView<const float>, std::span<const int>, MatrixView<float>) { return {}; }
};

static_assert(Loss<CrossEntropyWith<std::ratio<1>>> && Loss<Huber<std::ratio<1, 100>>> && Loss<Unchecked>);
void right(const ForwardPass<float>& pass) { Embedding<(1U << 24), 1>::forward(pass); }
#ifdef LOCKSTEP_FAIL
constexpr CrossEntropyWith<std::ratio<11, 10>> more_than_all;
constexpr Huber<std::ratio<0>> nowhere;
LossSum unchecked(MatrixView<const float> outputs, const WeightedTargets<std::span<const int>, float>& targets) {
    return Weighted<Unchecked>::evaluate(outputs, targets);
}
void wrong(const ForwardPass<float>& pass) { Embedding<(1U << 24) + 1, 1>::forward(pass); }
#endif

int main() { return 0; }
