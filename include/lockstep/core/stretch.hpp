// SPDX-License-Identifier: MIT
/// @file
/// The hook of observers: what the library does, from when to when. It compiles to nothing on a link that nobody watches.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <lockstep/core/config.hpp>

namespace lockstep::detail {

/// A link that somebody watches (observe/observed.hpp): it has a clock, in nanoseconds, and keeps what was done.
template <class Link>
concept Watches = requires(Link& link, const char* name, std::int64_t begin, std::size_t bytes) {
    { link.now() } -> std::same_as<std::int64_t>;
    link.record(name, begin, bytes);
};

/// From its construction to its end this rank did `name`.
template <class Link>
class Stretch {
public:
    constexpr Stretch(Link&, const char*, std::size_t = 0) noexcept {}
    constexpr void split(const char*, const char*) noexcept {}
};

template <Watches Link>
class Stretch<Link> {
public:
    Stretch(Link& link, const char* name, std::size_t bytes = 0)
        : link_(link), name_(name), bytes_(bytes), begin_(link.now()) {}
    Stretch(const Stretch&) = delete;
    Stretch& operator=(const Stretch&) = delete;
    ~Stretch() { link_.record(name_, begin_, bytes_); }

    /// Up to now it was this, from now on that.
    void split(const char* before, const char* after) {
        link_.record(before, begin_, bytes_);
        name_ = after;
        begin_ = link_.now();
    }

private:
    Link& link_;
    const char* name_;
    std::size_t bytes_;
    std::int64_t begin_;
};

}  // namespace lockstep::detail
