// SPDX-License-Identifier: MIT
/// @file
/// How a DataParallel reduces gradients: all at once, or in buckets while backward still runs.
#pragma once

#include <cstddef>
#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep {

/// When gradients are reduced.
enum class Overlap {
    none,                 ///< after backward, in one call
    per_bucket,           ///< each bucket as soon as backward has completed it, by the thread that runs backward
    per_bucket_by_thread  ///< the same by a thread of its own, while backward goes on
};

/// The same on all ranks.
struct DataParallelOptions {
    Overlap overlap = Overlap::none;
    /// Size of a bucket, rounded down to whole cache lines; 0 takes 256 KiB where ranks share memory (a bucket is still in
    /// the cache when it is reduced) and 1 MiB elsewhere (what a message costs beside its bytes does not count then).
    std::size_t bucket_bytes = 0;
};

namespace detail {

/// @throws ConfigurationError for a bucket that holds no cache line
inline void check(const DataParallelOptions& options) {
    if (options.bucket_bytes == 0 || options.bucket_bytes >= 64) return;
    throw ConfigurationError("DataParallel: bucket_bytes must be 0 or at least 64, not " +
                             std::to_string(options.bucket_bytes));
}

}  // namespace detail

}  // namespace lockstep
