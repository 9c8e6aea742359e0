// SPDX-License-Identifier: MIT
/// @file
/// Counts what a test may leave open.
#pragma once

#include <cstddef>

#include <dirent.h>

namespace test {

/// Names in a folder, without "." and ".."; 0 if there is no such folder.
inline std::size_t count_entries(const char* folder) {
    DIR* const listing = ::opendir(folder);
    if (listing == nullptr) return 0;
    std::size_t count = 0;
    while (::readdir(listing) != nullptr) ++count;
    ::closedir(listing);
    return count - 2;
}

/// Open descriptors of this process; the one by which they are counted is always among them.
inline std::size_t open_descriptors() { return count_entries("/proc/self/fd"); }

}  // namespace test
