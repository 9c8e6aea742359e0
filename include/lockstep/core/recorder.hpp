// SPDX-License-Identifier: MIT
/// @file
/// The last collectives of a rank, kept in a ring of fixed size, to be looked at when something has gone wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include <time.h>

#include <lockstep/core/call.hpp>

namespace lockstep {

class Recorder {
public:
    /// So many calls are remembered.
    static constexpr std::size_t capacity = 64;

    void begin(const Call& call) noexcept {
        Entry& entry = entries_[count_++ % capacity];
        entry = Entry{call.sequence, call.request, now(), Seconds{0}, Seconds{0}, -1};
    }

    /// The call that was begun last has waited for `peer`.
    void waited(int peer, Seconds time) noexcept {
        if (count_ == 0) return;
        Entry& entry = entries_[(count_ - 1) % capacity];
        entry.waited += time;
        if (entry.peer >= 0 && time <= entry.longest) return;
        entry.longest = time;
        entry.peer = peer;
    }

    /// One line a call, oldest first, columns parted by tabs: sequence number, rank, time of its beginning in seconds
    /// since 1970, call, waits. `end`, what became of the last one, is a line of its own. The lines of several ranks,
    /// put together and sorted by number, are in the order of calls.
    std::string text(int rank, std::string end) const {
        std::string lines;
        const auto start = [&](const Entry& entry) {
            lines += std::to_string(entry.sequence) + "\trank " + std::to_string(rank) + "\t";
        };
        for (std::uint64_t index = count_ > capacity ? count_ - capacity : 0; index < count_; ++index) {
            const Entry& entry = entries_[index % capacity];
            start(entry);
            lines += std::to_string(entry.begun.count()) + "\t" + to_string(entry.sequence, entry.request) +
                     "\twaited " + to_string(entry.waited);
            if (entry.peer >= 0) {
                lines += ", longest for rank " + std::to_string(entry.peer) + ": " + to_string(entry.longest);
            }
            lines += "\n";
        }
        if (end.empty()) return lines;
        std::replace(end.begin(), end.end(), '\n', ' ');
        start(count_ > 0 ? entries_[(count_ - 1) % capacity] : Entry{});
        return lines + std::to_string(now().count()) + "\t" + end + "\n";
    }

    /// Writes that text to the file `path` with the rank at its end. False if that cannot be done.
    bool write(const std::string& path, int rank, const std::string& end) const noexcept {
        try {
            const std::string lines = text(rank, end);
            std::FILE* const file = std::fopen((path + "." + std::to_string(rank)).c_str(), "w");
            if (file == nullptr) return false;
            const bool written = std::fwrite(lines.data(), 1, lines.size(), file) == lines.size();
            return std::fclose(file) == 0 && written;
        } catch (...) {
            return false;
        }
    }

private:
    struct Entry {
        std::uint64_t sequence = 0;
        Request request{};
        Seconds begun{0};
        Seconds waited{0};   ///< in all
        Seconds longest{0};  ///< at one time
        int peer = -1;       ///< for this rank then
    };

    /// The system's clock: only it is the same for several hosts. Its last tick will do, and is cheaper.
    static Seconds now() noexcept {
        timespec time{};
#if defined(CLOCK_REALTIME_COARSE)
        ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
#else
        ::clock_gettime(CLOCK_REALTIME, &time);
#endif
        return Seconds{static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
    }

    std::array<Entry, capacity> entries_{};
    std::uint64_t count_ = 0;
};

}  // namespace lockstep
