// SPDX-License-Identifier: MIT
/// @file
/// What a pass over some rows is part of: the step, the global batch, the ranks that work on the rest of it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/core/config.hpp>
#include <lockstep/core/loss_sum.hpp>

namespace lockstep {

/// The ranks that work on one global batch, as one rank's pass sees them. All ranks make the same calls in the same
/// order, those without rows too.
class GlobalBatch {
public:
    /// `values` become their sums over all ranks. @throws what the transport throws
    virtual void sum(std::span<double> values) = 0;
    /// Forward is done, and this is the loss of this rank's rows.
    virtual void loss_is(LossSum own) = 0;
    /// Backward will not change gradients at this address or above it any more.
    virtual void gradients_are_final_from(const void* first) = 0;
    /// Is anything done with them before backward has ended?
    virtual bool reduces_early() const noexcept = 0;

protected:
    ~GlobalBatch() = default;
};

/// The default is a pass outside of training, by a rank that is alone.
struct PassContext {
    bool training = false;          ///< else layers behave as they do when a model is used: no dropout, no statistics
    std::uint64_t seed = 0;         ///< of what is random in a pass
    std::uint64_t step = 0;         ///< number of the training step
    std::size_t first_row = 0;      ///< which row of the global batch the first row here is
    std::uint64_t place = 0;        ///< names the layer, so that no two of them draw the same numbers
    GlobalBatch* global = nullptr;  ///< null for a rank that is alone

    /// The context of part `index` of the layer that this one is for.
    constexpr PassContext part(std::size_t index) const noexcept {
        PassContext context = *this;
        context.place = mix(place + index + 1);
        return context;
    }

    /// The stream of random numbers of this layer in this step.
    constexpr std::uint64_t stream() const noexcept { return mix(place ^ mix(step)); }

    bool reduces_early() const noexcept { return global != nullptr && global->reduces_early(); }
    void sum(std::span<double> values) const {
        if (global != nullptr) global->sum(values);
    }
    void loss_is(LossSum own) const {
        if (global != nullptr) global->loss_is(own);
    }
    void gradients_are_final_from(const void* first) const {
        if (global != nullptr) global->gradients_are_final_from(first);
    }

private:
    /// Spreads near numbers over all 64 bits, one to one (the finalizer of Steele, Lea and Flood's SplitMix, 2014).
    static constexpr std::uint64_t mix(std::uint64_t number) noexcept {
        number += 0x9E3779B97F4A7C15U;
        number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9U;
        number = (number ^ (number >> 27)) * 0x94D049BB133111EBU;
        return number ^ (number >> 31);
    }
};

/// What the passes of a layer or of a model ask of the ranks that train together; its static member `traits`.
struct PassTraits {
    bool sums_over_ranks = false;   ///< calls `context.sum`: ranks without rows must make its passes too
    bool uses_global_rows = false;  ///< reads `context.first_row`
    bool local_buffers = false;     ///< its buffers differ between ranks, until they are averaged

    friend constexpr PassTraits operator|(const PassTraits& one, const PassTraits& other) noexcept {
        return {one.sums_over_ranks || other.sums_over_ranks, one.uses_global_rows || other.uses_global_rows,
                one.local_buffers || other.local_buffers};
    }
};

namespace detail {

template <class Candidate>
inline constexpr PassTraits traits_of{};
template <class Candidate>
    requires requires {
        { Candidate::traits } -> std::convertible_to<PassTraits>;
    }
inline constexpr PassTraits traits_of<Candidate> = Candidate::traits;

}  // namespace detail

}  // namespace lockstep
