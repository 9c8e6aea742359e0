// SPDX-License-Identifier: MIT
/// @file
/// A file that is there as long as the object.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

namespace test {

class TemporaryFile {
public:
    explicit TemporaryFile(std::string_view bytes) {
        const int descriptor = ::mkstemp(path_.data());
        if (descriptor < 0) throw std::runtime_error("no temporary file");
        while (!bytes.empty()) {
            const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
            if (written <= 0) throw std::runtime_error("cannot write " + path_);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
        ::close(descriptor);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { ::unlink(path_.c_str()); }

    const std::string& path() const noexcept { return path_; }

private:
    std::string path_ = "/tmp/lockstep-test-XXXXXX";
};

}  // namespace test
