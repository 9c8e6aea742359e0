// SPDX-License-Identifier: MIT
/// @file
/// Which of this process's memory others can map: every shared mapping, by address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <lockstep/core/config.hpp>

namespace lockstep::detail {

/// A mapping of a memory file, as it lies in this process.
struct SharedSegment {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    int descriptor = -1;
    std::uint64_t inode = 0;  ///< tells one file from another that got the same descriptor later
};

/// All shared mappings of this process. A forked child begins with those of its parent, which are its own too.
class SharedSegments {
public:
    static SharedSegments& of_process() {
        static auto& segments = *new SharedSegments;  // Never destroyed: mappings in static objects outlive it.
        return segments;
    }

    void add(const SharedSegment& segment) {
        const std::lock_guard lock(mutex_);
        segments_.push_back(segment);
    }
    void remove(const void* address) noexcept {
        const std::lock_guard lock(mutex_);
        std::erase_if(segments_, [address](const SharedSegment& each) { return each.address == address; });
    }
    /// The segment that holds all of `bytes`, or nothing.
    std::optional<SharedSegment> find(std::span<const std::byte> bytes) const noexcept {
        const std::lock_guard lock(mutex_);
        for (const SharedSegment& each : segments_) {
            const auto begin = reinterpret_cast<std::uintptr_t>(each.address);
            const auto wanted = reinterpret_cast<std::uintptr_t>(bytes.data());
            if (wanted >= begin && wanted - begin <= each.bytes && bytes.size() <= each.bytes - (wanted - begin)) {
                return each;
            }
        }
        return std::nullopt;
    }

private:
    mutable std::mutex mutex_;
    std::vector<SharedSegment> segments_;
};

}  // namespace lockstep::detail
