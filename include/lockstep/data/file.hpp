// SPDX-License-Identifier: MIT
/// @file
/// A whole file as bytes.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <lockstep/core/error.hpp>

namespace lockstep {

/// The bytes of the file at `path`. Memory grows with what was read, never with a size that the file claims.
/// @throws FormatError with path and reason if it cannot be read
inline std::string read_file(const std::string& path) {
    struct Descriptor {
        int number;
        ~Descriptor() {
            if (number >= 0) ::close(number);
        }
    };
    const auto refuse = [&path](const char* what) {
        throw FormatError(path + ": " + what + ": " + std::generic_category().message(errno));
    };
    // Calls that a signal interrupts are made again.
    Descriptor file{-1};
    do file.number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    while (file.number < 0 && errno == EINTR);
    if (file.number < 0) refuse("cannot be opened");

    std::string bytes;
    std::array<char, 65536> piece;
    while (true) {
        const ssize_t count = ::read(file.number, piece.data(), piece.size());
        if (count == 0) return bytes;
        if (count > 0) bytes.append(piece.data(), static_cast<std::size_t>(count));
        else if (errno != EINTR) refuse("cannot be read");
    }
}

}  // namespace lockstep
