// SPDX-License-Identifier: MIT
/// @file
/// Parameters that took no part in a step on any rank: neither they nor their optimizer state shall move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/shard.hpp>

namespace lockstep::detail {

/// Asks a model that has `used()`; of any other everything counts as used, and nothing is communicated.
template <class Net>
class Unused {
public:
    explicit Unused(const Net& model) {
        if constexpr (TellsUsedParameters<Net>) {
            std::size_t first = 0;
            for (const Parameter& parameter : Manifest(model.manifest())) {
                places_.push_back({first, parameter.numel()});
                first += parameter.numel();
            }
            ranges_.reserve(places_.size());
        }
    }

    void begin(Net& model) {
        if constexpr (TellsUsedParameters<Net>) {
            const std::span<std::uint8_t> used = model.used();
            if (used.size() != places_.size()) {
                throw ShapeError("the model tells of " + std::to_string(used.size()) +
                                 " parameters whether they were used, and its manifest names " +
                                 std::to_string(places_.size()));
            }
            std::fill(used.begin(), used.end(), std::uint8_t{0});
        }
    }

    /// What any rank has used, all have. Cost: an all-reduce of a byte a parameter, as the manifest counts them.
    template <class Reducer, class Link>
    void agree(Net& model, Reducer& reducer, Link& link) {
        if constexpr (TellsUsedParameters<Net>) {
            const std::span<std::uint8_t> used = model.used();
            reducer.all_reduce(link, used, Max{});
            ranges_.clear();
            for (std::size_t index = 0; index < used.size(); ++index) {
                if (used[index] == 0 && places_[index].size > 0) ranges_.push_back(places_[index]);
            }
        }
    }

    std::span<const Shard> ranges() const noexcept { return ranges_; }

private:
    std::vector<Shard> places_;
    std::vector<Shard> ranges_;
};

}  // namespace lockstep::detail
