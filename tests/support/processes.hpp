// SPDX-License-Identifier: MIT
/// @file
/// Ranks as processes that a test may kill or stop: each tells the test in one line how it ended.
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lockstep/core/deadline.hpp>

#include "support/world.hpp"

namespace test {

/// How a process ended, or that it did not.
struct Ended {
    std::string words;     ///< what it said last: empty if it was killed
    bool stopped = false;  ///< by a signal, until the test killed it
    int signal = 0;        ///< that killed it
    double seconds = 0;    ///< from the first death or stop among all to its end; 0 if it was seen before
};

/// A process a rank, each with the words of `body(rank)` as its last. Those that are stopped, or have not ended
/// `patience` after all others or the first loss, are killed.
class Processes {
public:
    template <class Body>
    Processes(int world_size, const Body& body) {
        for (int rank = 0; rank < world_size; ++rank) {
            int ends[2];
            expect(::pipe(ends) == 0, "pipe");
            const pid_t process = ::fork();
            expect(process >= 0, "fork");
            if (process == 0) {
                ::close(ends[0]);
                for (const Child& other : children_) ::close(other.words);
                const std::string words = body(rank);
                const ssize_t written = ::write(ends[1], words.data(), words.size());
                ::_exit(written == static_cast<ssize_t>(words.size()) ? 0 : 1);
            }
            ::close(ends[1]);
            children_.push_back({process, ends[0], false, {}});
        }
    }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    ~Processes() {
        for (const Child& child : children_) ::close(child.words);
    }

    pid_t process(int rank) const { return children_[static_cast<std::size_t>(rank)].process; }

    std::vector<Ended> wait(lockstep::Seconds patience) {
        const auto limit = lockstep::Deadline::after(patience);
        using Clock = std::chrono::steady_clock;
        std::chrono::time_point<Clock> loss{};
        bool lost = false;
        const auto running = [&] {
            std::size_t count = 0;
            for (const Child& child : children_) count += child.over || child.ended.stopped ? 0U : 1U;
            return count;
        };
        while (running() > 0 && !limit.passed()) {
            for (Child& child : children_) {
                int status = 0;
                if (child.over || ::waitpid(child.process, &status, WNOHANG | WUNTRACED) <= 0) continue;
                child.ended.stopped = WIFSTOPPED(status);
                child.over = !child.ended.stopped;
                if (child.over && WIFSIGNALED(status)) child.ended.signal = WTERMSIG(status);
                if (lost) child.ended.seconds = std::chrono::duration<double>(Clock::now() - loss).count();
                if (!lost && (child.ended.stopped || child.ended.signal != 0)) {
                    lost = true;
                    loss = Clock::now();
                }
            }
            ::poll(nullptr, 0, 1);  // waitpid knows no deadline.
        }
        std::vector<Ended> all;
        for (Child& child : children_) {
            if (!child.over) {
                ::kill(child.process, SIGKILL);
                ::waitpid(child.process, nullptr, 0);
            }
            std::array<char, 4096> bytes;
            for (ssize_t count; (count = ::read(child.words, bytes.data(), bytes.size())) > 0;) {
                child.ended.words.append(bytes.data(), static_cast<std::size_t>(count));
            }
            all.push_back(child.ended);
        }
        return all;
    }

private:
    struct Child {
        pid_t process;
        int words;
        bool over;
        Ended ended;
    };

    std::vector<Child> children_;
};

}  // namespace test
