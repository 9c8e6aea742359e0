// SPDX-License-Identifier: MIT
/// @file
/// A whole file as bytes, read or written.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <lockstep/core/error.hpp>

namespace lockstep {

namespace detail {

struct FileDescriptor {
    int number = -1;

    FileDescriptor(const std::string& path, int flags) {
        // Calls that a signal interrupts are made again.
        do number = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
        while (number < 0 && errno == EINTR);
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor() { close(); }

    /// Some file systems tell only now that there was no room. @returns whether all is well
    bool close() noexcept { return number < 0 || ::close(std::exchange(number, -1)) == 0; }
};

[[noreturn]] inline void refuse_file(const std::string& path, const char* what) {
    throw FormatError(path + ": " + what + ": " + std::generic_category().message(errno));
}

}  // namespace detail

/// The bytes of the file at `path`. Memory grows with what was read, never with a size that the file claims.
/// @throws FormatError with path and reason if it cannot be read
inline std::string read_file(const std::string& path) {
    const detail::FileDescriptor file(path, O_RDONLY);
    if (file.number < 0) detail::refuse_file(path, "cannot be opened");
    std::string bytes;
    std::array<char, 65536> piece;
    while (true) {
        const ssize_t count = ::read(file.number, piece.data(), piece.size());
        if (count == 0) return bytes;
        if (count > 0) bytes.append(piece.data(), static_cast<std::size_t>(count));
        else if (errno != EINTR) detail::refuse_file(path, "cannot be read");
    }
}

/// Puts a file with these pieces, one after another, at `path`, all or nothing: whoever looks, and whenever this process or the machine ends,
/// finds the whole old file or the whole new one. The bytes are on the disk when it returns.
///
/// They are first written to `path` with `.partial-` and the number of the process at its end, in the same folder; a
/// killed process may leave that file behind. Not for two threads and one path at once.
/// @throws FormatError with path and reason if it cannot be written; then the old file is as it was
inline void replace_file(const std::string& path, std::initializer_list<std::string_view> pieces) {
    const std::string partial = path + ".partial-" + std::to_string(::getpid());
    const auto refuse = [&](const char* what) {
        const int error = errno;
        ::unlink(partial.c_str());
        errno = error;
        detail::refuse_file(path, what);
    };
    detail::FileDescriptor file(partial, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.number < 0) detail::refuse_file(path, "cannot be written");
    for (std::string_view bytes : pieces) {
        while (!bytes.empty()) {
            const ssize_t count = ::write(file.number, bytes.data(), bytes.size());
            if (count >= 0) bytes.remove_prefix(static_cast<std::size_t>(count));
            else if (errno != EINTR) refuse("cannot be written");
        }
    }
    if (::fsync(file.number) != 0 || !file.close()) refuse("cannot be written");
    if (std::rename(partial.c_str(), path.c_str()) != 0) refuse("cannot be replaced");
    // That the name means the new file is written in the folder.
    const std::size_t slash = path.rfind('/');
    const detail::FileDescriptor folder(slash == std::string::npos ? "." : path.substr(0, slash + 1), O_RDONLY);
    if (folder.number < 0 || (::fsync(folder.number) != 0 && errno != EINVAL)) {
        detail::refuse_file(path, "was replaced, but may be lost if the machine stops now");
    }
}

}  // namespace lockstep
