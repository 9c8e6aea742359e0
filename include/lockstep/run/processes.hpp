// SPDX-License-Identifier: MIT
/// @file
/// run_processes: a world of processes on this host in one call.
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

namespace lockstep {

struct ProcessesOptions {
    LocalSockets sockets = LocalSockets::unix_domain;
    Seconds timeout{60};       ///< for one collective; see SocketsOptions
    Seconds join_timeout{60};  ///< for all workers to find each other
    /// After the first failure, how much longer than `timeout` the other workers may take before they are killed.
    Seconds grace{2};
};

namespace detail {

/// A forked worker, seen from its parent.
struct Worker {
    pid_t process = -1;
    Descriptor report;  ///< read end: the worker's last words
    std::string words;  ///< so far: 'd' when done, else 'f', kind, rank, message
    bool ended = false;
    int status = 0;
};

class Workers {
public:
    explicit Workers(const ProcessesOptions& options) : options_(options) {}
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    /// Ends those that still run: no orphans, whatever happened here.
    ~Workers() {
        for (Worker& worker : workers_) {
            if (worker.ended) continue;
            ::kill(worker.process, SIGKILL);
            reap(worker);
        }
    }

    template <class Work>
    void start(int rank, const Work& work) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw TransportError(system_text("pipe", errno));
        Descriptor reading(ends[0]);
        Descriptor writing(ends[1]);
        std::fflush(nullptr);  // What is buffered would otherwise be printed by every worker.
        const pid_t process = ::fork();
        if (process < 0) throw TransportError(system_text("fork", errno));
        if (process == 0) {
            reading.reset();
            for (Worker& other : workers_) other.report.reset();
            const std::string words = last_words(rank, work);
            std::fflush(nullptr);
            write_words(writing.get(), words);
            ::_exit(words[0] == 'd' ? 0 : 1);
        }
        workers_.push_back({process, std::move(reading), {}, false, 0});
    }

    /// Waits for all; after the first failure only for as long as the others need to notice.
    void wait() {
        std::optional<Deadline> deadline;
        for (;;) {
            std::vector<pollfd> waits;
            for (const Worker& worker : workers_) {
                if (!worker.ended) waits.push_back({worker.report.get(), POLLIN, 0});
            }
            if (waits.empty()) return;
            if (!deadline && any_failed()) deadline = Deadline::after(options_.timeout + options_.grace);
            if (!poll_until(waits, deadline ? *deadline : Deadline::after(Seconds{3600})) && deadline) return;
            for (Worker& worker : workers_) listen(worker);
        }
    }

    /// What went wrong first, as far as can be told: a worker that was killed, else one whose own work failed, else
    /// one that only noticed. Workers that have not ended are named too.
    std::optional<Failure> failure() const {
        std::optional<Failure> worst;
        int rating = 3;
        std::string hanging;
        for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
            if (!workers_[rank].ended && workers_[rank].words.empty()) {
                hanging += "; rank " + std::to_string(rank) + " did not end after that";
                continue;
            }
            const auto found = failure_of(static_cast<int>(rank), workers_[rank]);
            if (!found) continue;
            const bool own = found->rank < 0 || found->rank == static_cast<int>(rank);
            const int rated = workers_[rank].words.empty() ? 0 : own ? 1 : 2;
            if (rated < rating) {
                rating = rated;
                worst = found;
            }
        }
        if (worst) worst->message += hanging;
        return worst;
    }

private:
    /// Nothing may leave it: the child would go on as a second copy of the caller.
    template <class Work>
    static std::string last_words(int rank, const Work& work) noexcept {
        try {
            work();
            return "d";
        } catch (...) {
            const Failure failure = current_failure(rank);
            return std::string("f") + static_cast<char>('0' + static_cast<int>(failure.kind)) +
                   std::to_string(failure.rank) + " " + failure.message;
        }
    }

    static void write_words(int descriptor, const std::string& words) {
        for (std::size_t done = 0; done < words.size();) {
            const ssize_t count = ::write(descriptor, words.data() + done, words.size() - done);
            if (count < 0 && errno != EINTR) return;
            if (count > 0) done += static_cast<std::size_t>(count);
        }
    }

    static void reap(Worker& worker) {
        while (::waitpid(worker.process, &worker.status, 0) < 0 && errno == EINTR) {
        }
        worker.ended = true;
    }

    static void listen(Worker& worker) {
        if (worker.ended || !poll_until(worker.report.get(), POLLIN, Deadline::after(Seconds{0}))) return;
        std::array<char, 4096> piece;
        const ssize_t count = ::read(worker.report.get(), piece.data(), piece.size());
        if (count > 0) worker.words.append(piece.data(), static_cast<std::size_t>(count));
        if (count == 0) reap(worker);
    }

    bool any_failed() const {
        for (const Worker& worker : workers_) {
            if (worker.ended ? worker.words != "d" : worker.words.starts_with('f')) return true;
        }
        return false;
    }

    std::optional<Failure> failure_of(int rank, const Worker& worker) const {
        if (worker.words == "d") return std::nullopt;
        const std::string name = "rank " + std::to_string(rank);
        if (worker.words.size() > 2) {
            const std::size_t space = worker.words.find(' ');
            return Failure{static_cast<ErrorKind>(worker.words[1] - '0'), std::atoi(worker.words.c_str() + 2),
                           worker.words.substr(space + 1)};
        }
        if (WIFSIGNALED(worker.status)) {
            return Failure{ErrorKind::peer_lost, rank,
                           name + " was killed by signal " + std::to_string(WTERMSIG(worker.status)) + " (" +
                               ::strsignal(WTERMSIG(worker.status)) + ")"};
        }
        return Failure{
            ErrorKind::peer_lost, rank,
            name + " ended before its work was done, with exit status " + std::to_string(WEXITSTATUS(worker.status))};
    }

    const ProcessesOptions& options_;
    std::vector<Worker> workers_;
};

}  // namespace detail

/// Forks `world_size` workers, calls `work(Link)` in each with its rank's transport, and returns when all have ended.
/// What they change stays in them, except for SharedMemory made before. Call it while no other thread runs.
///
/// One worker's failure ends the others' waits; the caller gets it as the exception of its kind, naming the rank: the
/// message of what it threw, or the signal that killed it.
/// @throws ConfigurationError if `world_size` is less than one
template <class Link = Sockets, class Work>
void run_processes(int world_size, const Work& work, const ProcessesOptions& options = {}) {
    if (world_size < 1) throw ConfigurationError("world_size must be at least 1, not " + std::to_string(world_size));
    detail::LocalMeeting meeting(world_size, options.sockets);
    detail::Workers workers(options);
    for (int rank = 0; rank < world_size; ++rank) {
        workers.start(rank, [&] {
            SocketsOptions own = meeting.options(rank);
            own.timeout = options.timeout;
            own.join_timeout = options.join_timeout;
            meeting.close();
            Link link(own);
            fail_together(link, [&] { work(link); });
        });
    }
    meeting.close();
    workers.wait();
    if (const auto failure = workers.failure()) raise(*failure);
}

}  // namespace lockstep
