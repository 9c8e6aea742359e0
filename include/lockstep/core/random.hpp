// SPDX-License-Identifier: MIT
/// @file
/// Counter-based random numbers: the k-th number of a stream is a pure function of (seed, stream, k).
///
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Philox4x32-10).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// The Philox4x32-10 block function: 128 bits of counter and 64 bits of key to 128 random bits.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) noexcept {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t low = std::uint64_t{0xD2511F53U} * counter[0];
        const std::uint64_t high = std::uint64_t{0xCD9E8D57U} * counter[2];
        counter = {static_cast<std::uint32_t>(high >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(high),
                   static_cast<std::uint32_t>(low >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(low)};
        key[0] += 0x9E3779B9U;
        key[1] += 0xBB67AE85U;
    }
    return counter;
}

/// A stream of random numbers named by (seed, stream). Streams of one seed are independent.
///
/// Nothing about a stream depends on the rank or the world size: name the stream after *what* is random (a layer,
/// an epoch, a row), never after who draws it, and every rank draws the same numbers.
/// It is a UniformRandomBitGenerator, so the distributions of `<random>` accept it too.
class Random {
public:
    using result_type = std::uint64_t;

    explicit constexpr Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept : seed_(seed), stream_(stream) {}

    // In parentheses, because some platforms have macros of these names.
    static constexpr result_type(min)() noexcept { return 0; }
    static constexpr result_type(max)() noexcept { return ~result_type{0}; }

    /// The next 64 random bits.
    constexpr result_type operator()() noexcept { return at(position_++); }

    /// The 64 random bits at `position` of this stream; does not move the stream.
    constexpr result_type at(std::uint64_t position) const noexcept {
        const std::uint64_t block = position / 2;
        const auto words = philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                   static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                                  {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
        const std::size_t half = (position % 2) * 2;
        return (std::uint64_t{words[half + 1]} << 32) | words[half];
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

    /// Uniform in [low, high).
    constexpr double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

    /// Normal with mean 0 and variance 1 (Box and Muller, 1958); two draws each.
    double normal() noexcept {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

    /// Uniform in {0, ..., bound - 1}, without bias; 0 if `bound` is 0.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        if (bound == 0) return 0;
        // Bits above the largest multiple of bound are drawn again, so that each value has the same share.
        const std::uint64_t excess = ((max)() % bound + 1) % bound;
        std::uint64_t bits = (*this)();
        while (bits > (max)() - excess) bits = (*this)();
        return bits % bound;
    }

private:
    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t position_ = 0;
};

/// Shuffles `values` in place (Fisher and Yates); the order depends on the stream alone.
template <class Value>
constexpr void shuffle(std::span<Value> values, Random random) {
    for (std::size_t left = values.size(); left > 1; --left) {
        const auto other = static_cast<std::size_t>(random.below(left));
        using std::swap;
        swap(values[left - 1], values[other]);
    }
}

}  // namespace lockstep
