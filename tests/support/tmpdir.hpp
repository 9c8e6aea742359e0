// SPDX-License-Identifier: MIT
/// @file
/// An empty folder for temporary files, to see what is left in it.
#pragma once

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "support/descriptors.hpp"

namespace test {

/// A new folder that is TMPDIR as long as this object is there.
class OwnTmpdir {
public:
    OwnTmpdir() {
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
        if (const char* const value = std::getenv("TMPDIR")) before_ = value;
        ::setenv("TMPDIR", path_.c_str(), 1);
    }
    OwnTmpdir(const OwnTmpdir&) = delete;
    OwnTmpdir& operator=(const OwnTmpdir&) = delete;
    ~OwnTmpdir() {
        if (before_) ::setenv("TMPDIR", before_->c_str(), 1);
        else ::unsetenv("TMPDIR");
        ::rmdir(path_.c_str());
    }

    const std::string& path() const noexcept { return path_; }
    std::size_t entries() const { return count_entries(path_.c_str()); }

private:
    std::string path_ = "/tmp/lockstep-test-XXXXXX";
    std::optional<std::string> before_;
};

}  // namespace test
