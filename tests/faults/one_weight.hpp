// SPDX-License-Identifier: MIT
/// @file
/// A model of one weight, of which every number of a step can be worked out by hand.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include <lockstep/data_parallel/data_parallel.hpp>

#include "support/any_reducer.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace test {

struct Inputs {
    std::span<const float> x;
    std::size_t rows() const { return x.size(); }
    Inputs slice(lockstep::Shard shard) const { return {x.subspan(shard.begin, shard.size)}; }
};

/// y = w x with w = 1 at first, and the loss (w x)^2 a row: a row's gradient is 2 w x^2.
struct OneWeight {
    using scalar_type = float;
    std::array<float, 1> weight{1};
    std::array<float, 1> slope{0};

    std::span<float> parameters() { return weight; }
    std::span<float> gradients() { return slope; }
    lockstep::Manifest manifest() const { return {{"weight", {1}}}; }

    lockstep::LossSum backward(const Inputs& inputs) {
        double loss = 0;
        for (const float x : inputs.x) {
            const float y = weight[0] * x;
            loss += static_cast<double>(y * y);
            slope[0] += 2 * y * x;
        }
        return {loss, static_cast<double>(inputs.rows())};
    }
};

/// x = first, ..., last.
inline std::vector<float> whole_numbers(int first, int last) {
    std::vector<float> numbers;
    for (int number = first; number <= last; ++number) numbers.push_back(static_cast<float>(number));
    return numbers;
}

/// A replica that reduces by any reducer of its transport.
template <class Net, class Link>
using ReplicaOf = lockstep::DataParallel<Net, AnyReducer<std::remove_reference_t<Link>>, std::remove_reference_t<Link>>;

}  // namespace test
