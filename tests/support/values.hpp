// SPDX-License-Identifier: MIT
/// @file
/// What ranks hold in tests: buffers at awkward addresses, results side by side, and a look at every element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <lockstep/storage/aligned.hpp>

#include "support/world.hpp"

namespace test {

/// `length` elements that begin `past` elements after a 32-byte boundary.
template <class Scalar>
class Values {
public:
    explicit Values(std::size_t length, std::size_t past = 0) : past_(past), buffer_(length + past) {
        static_assert(lockstep::Aligned::alignment % 32 == 0);
    }
    std::span<Scalar> span() { return std::span<Scalar>(buffer_.data(), buffer_.size()).subspan(past_); }

private:
    std::size_t past_;
    lockstep::Aligned::buffer<Scalar> buffer_;
};

/// One slot a rank: each rank writes its own, the main thread reads them after the run.
template <class Value>
class PerRank {
public:
    explicit PerRank(int world) : slots_(static_cast<std::size_t>(world)) {}
    Value& operator[](int rank) { return slots_[static_cast<std::size_t>(rank)]; }
    auto begin() const { return slots_.begin(); }
    auto end() const { return slots_.end(); }
    /// Does every rank hold `value`?
    bool all_are(const Value& value) const {
        return std::all_of(begin(), end(), [&](const Value& slot) { return slot == value; });
    }

private:
    std::deque<Value> slots_;  // Of bools, too, each has a place of its own.
};

inline std::vector<std::uint32_t> bits_of(std::span<const float> values) {
    std::vector<std::uint32_t> bits(values.size());
    if (!values.empty()) std::memcpy(bits.data(), values.data(), values.size_bytes());
    return bits;
}

/// On a rank: throws unless `right(index)` for every index below `length`.
template <class Right>
void expect_each(std::size_t length, const Right& right, const std::string& what, int line = __builtin_LINE()) {
    std::size_t wrong = 0;
    std::size_t first = length;
    for (std::size_t index = length; index-- > 0;) {
        if (right(index)) continue;
        ++wrong;
        first = index;
    }
    if (wrong == 0) return;
    const std::string numbers = std::to_string(wrong) + " of " + std::to_string(length) + " elements are wrong, ";
    expect(false, what + ": " + numbers + "the first is number " + std::to_string(first), line);
}

}  // namespace test
