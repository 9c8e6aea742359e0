// SPDX-License-Identifier: MIT
/// @file
/// Storage policy SharedMemory: pages that other processes can see.
/// Idea: an unnamed memory file, mapped shared: forked children see the same pages, and any process that gets the
///       descriptor can map them. Nothing is left behind in the file system, whoever dies.
/// Cost: three system calls at construction and a page fault for each page first touched; whole pages.
/// Choose it when: ranks are processes on one host and should read each other's tensors without a copy.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lockstep/core/error.hpp>
#include <lockstep/storage/aligned.hpp>
#include <lockstep/storage/shared_segments.hpp>

namespace lockstep {

namespace detail {

/// A shared mapping of a memory file; owns both.
class SharedMapping {
public:
    SharedMapping() noexcept = default;

    explicit SharedMapping(std::size_t bytes) : bytes_(bytes) {
        if (bytes == 0) return;
        check_fits_in_memory();
        descriptor_ = ::memfd_create("lockstep", MFD_CLOEXEC);
        if (descriptor_ < 0) refuse("memfd_create");
        // Reserving the pages now turns "no memory left" into an error here rather than a signal later.
        int code = 0;
        do code = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
        while (code == EINTR);
        errno = code;
        if (code != 0) refuse("posix_fallocate");
        map();
    }

    SharedMapping(int descriptor, std::size_t bytes) : bytes_(bytes) {
        struct stat status {};
        if (::fstat(descriptor, &status) != 0) refuse("fstat");
        if (static_cast<std::size_t>(status.st_size) < bytes) {
            throw ShapeError("shared memory holds " + std::to_string(status.st_size) + " bytes, not the " +
                             std::to_string(bytes) + " asked for");
        }
        if (bytes == 0) return;
        descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        if (descriptor_ < 0) refuse("fcntl");
        map();
    }

    SharedMapping(SharedMapping&& other) noexcept
        : address_(std::exchange(other.address_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)),
          descriptor_(std::exchange(other.descriptor_, -1)) {}
    SharedMapping& operator=(SharedMapping&& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~SharedMapping() { release(); }

    void* address() const noexcept { return address_; }
    std::size_t bytes() const noexcept { return bytes_; }
    int descriptor() const noexcept { return descriptor_; }

private:
    /// The kernel does not bound a memory file: it would hand out pages until it has to kill somebody.
    void check_fits_in_memory() const {
        const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
        const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        if (bytes_ / page_bytes >= pages) {
            throw ShapeError("shared memory of " + std::to_string(bytes_) + " bytes: the machine has " +
                             std::to_string(pages * page_bytes));
        }
    }
    void map() {
        void* const address = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
        if (address == MAP_FAILED) refuse("mmap");
        address_ = address;
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0) refuse("fstat");
        SharedSegments::of_process().add(
            {static_cast<std::byte*>(address), bytes_, descriptor_, static_cast<std::uint64_t>(status.st_ino)});
    }
    void release() noexcept {
        if (address_ != nullptr) {
            SharedSegments::of_process().remove(address_);
            ::munmap(address_, bytes_);
        }
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    [[noreturn]] void refuse(const char* call) {
        const std::string reason = std::strerror(errno);
        release();
        address_ = nullptr;
        descriptor_ = -1;
        throw ShapeError("shared memory of " + std::to_string(bytes_) + " bytes: " + call + ": " + reason);
    }

    void* address_ = nullptr;
    std::size_t bytes_ = 0;
    int descriptor_ = -1;
};

}  // namespace detail

struct SharedMemory {
    static constexpr std::size_t alignment = 64;

    template <class Value>
    class buffer {
    public:
        buffer() noexcept = default;

        /// `count` values, all zero. @throws ShapeError if the memory is not to be had
        explicit buffer(std::size_t count) : mapping_(detail::bytes_of<Value>(count)), size_(count) {}

        /// The first `count` values of another buffer's memory, by its `descriptor()`. @throws ShapeError
        static buffer attach(int descriptor, std::size_t count) {
            buffer attached;
            attached.mapping_ = detail::SharedMapping(descriptor, detail::bytes_of<Value>(count));
            attached.size_ = count;
            return attached;
        }

        /// A copy has pages of its own.
        buffer(const buffer& other) : buffer(other.size_) {
            if (size_ != 0) std::memcpy(mapping_.address(), other.mapping_.address(), size_ * sizeof(Value));
        }
        buffer(buffer&& other) noexcept : mapping_(std::move(other.mapping_)), size_(std::exchange(other.size_, 0)) {}
        buffer& operator=(buffer other) noexcept {
            std::swap(mapping_, other.mapping_);
            std::swap(size_, other.size_);
            return *this;
        }
        ~buffer() = default;

        Value* data() noexcept { return static_cast<Value*>(mapping_.address()); }
        const Value* data() const noexcept { return static_cast<const Value*>(mapping_.address()); }
        std::size_t size() const noexcept { return size_; }
        /// What another process needs to `attach`; -1 for an empty buffer. Owned by the buffer.
        int descriptor() const noexcept { return mapping_.descriptor(); }

    private:
        static_assert(std::is_trivially_copyable_v<Value>, "shared buffers hold plain numbers");

        detail::SharedMapping mapping_;
        std::size_t size_ = 0;
    };
};

}  // namespace lockstep
