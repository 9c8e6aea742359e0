// SPDX-License-Identifier: MIT
/// @file
/// What all contenders share, so that they differ in nothing but the all-reduce: the line protocol on rank 0's standard
/// input and output, the barrier before the clock starts, the values, and the check.
///
/// `BYTES ITERATIONS WARMUP` is answered by `ok MEDIAN_SECONDS` or `wrong`; `quit`, or the end of the input, ends all
/// ranks. Ranks meet on a Board in memory that all of them see, whatever carries the bytes of the all-reduce: so the
/// barrier, and the moment at which each rank leaves it, is the same for everyone, and idle ranks sleep.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peers {

inline constexpr int max_ranks = 64;

/// One block of measurements. No iterations: the end.
struct Command {
    std::size_t bytes = 0;
    int iterations = 0;
    int warmup = 0;
};

/// Where the ranks of one contender meet. In memory of one process, or shared by all.
class Board {
public:
    struct alignas(128) Slot {
        double seconds = 0;
        bool is_right = true;
    };

    explicit Board(int world_size) : world_size_(world_size), rank_0_(::getpid()) {
        if (world_size < 1 || world_size > max_ranks) {
            throw std::invalid_argument("the world size must be from 1 to " + std::to_string(max_ranks));
        }
    }

    int world_size() const { return world_size_; }
    Slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }

    /// Rank 0 claims the board for its process: the others leave when that has gone.
    void claim() { rank_0_.store(::getpid()); }

    /// Nobody leaves before everybody has come. Who waits long calls `progress()` now and then.
    template <class Progress>
    void barrier(const Progress& progress) {
        const std::uint32_t mine = generation_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == world_size_) {
            arrived_.store(0, std::memory_order_relaxed);
            generation_.store(mine + 1, std::memory_order_release);
            return;
        }
        const int spins = world_size_ <= cores() ? 2000 : 0;
        const auto start = std::chrono::steady_clock::now();
        for (int turn = 0; turn < spins; ++turn) {
            if (generation_.load(std::memory_order_acquire) != mine) return;
            pause();
        }
        for (;;) {
            const char* const trouble = what_is_wrong();  // Asked first: who has met us may leave at once.
            if (generation_.load(std::memory_order_acquire) != mine) return;
            if (trouble != nullptr) throw std::runtime_error(trouble);
            if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) {
                throw std::runtime_error("a rank has not come to the barrier for 60 s");
            }
            progress();
            ::sched_yield();
        }
    }

    /// Rank 0: tells all others what comes next.
    void publish(const Command& command) {
        command_ = command;
        number_.fetch_add(1, std::memory_order_release);
        futex(FUTEX_WAKE, INT_MAX, nullptr);
    }

    /// The others: sleep until there is a command after number `seen`.
    Command await(std::uint32_t& seen) {
        for (;;) {
            const char* const trouble = what_is_wrong();
            if (number_.load(std::memory_order_acquire) != seen) break;
            if (trouble != nullptr) throw std::runtime_error(trouble);
            const timespec second{1, 0};
            futex(FUTEX_WAIT, seen, &second);
        }
        ++seen;
        return command_;
    }

    /// Ends the waits of all other ranks.
    void fail() {
        failed_.store(true);
        futex(FUTEX_WAKE, INT_MAX, nullptr);
    }

private:
    static int cores() {
        static const int count = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
        return count;
    }

    static void pause() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    const char* what_is_wrong() const {
        if (failed_.load()) return "another rank has failed";
        if (::kill(rank_0_.load(), 0) != 0 && errno == ESRCH) return "rank 0 has gone";
        return nullptr;
    }

    void futex(int operation, std::uint32_t value, const timespec* timeout) {
        static_assert(sizeof number_ == sizeof(std::uint32_t));
        ::syscall(SYS_futex, &number_, operation, value, timeout, nullptr, 0);
    }

    int world_size_;
    std::atomic<pid_t> rank_0_;
    std::atomic<bool> failed_{false};
    Command command_;
    std::atomic<std::uint32_t> number_{0};
    alignas(128) std::atomic<int> arrived_{0};
    alignas(128) std::atomic<std::uint32_t> generation_{0};
    std::array<Slot, max_ranks> slots_;
};

/// A Board that processes forked from this one share.
inline Board& shared_board(int world_size) {
    void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap of the board");
    return *new (memory) Board(world_size);
}

/// Floats at an address divisible by 64, not yet touched: their pages belong to who writes them first.
class Floats {
public:
    std::span<float> resize(std::size_t size) {
        if (size != size_) {
            memory_.reset();
            const std::size_t bytes = (size * sizeof(float) + 63) / 64 * 64;
            memory_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
            if (!memory_) throw std::bad_alloc();
            size_ = size;
        }
        return values();
    }
    std::span<float> values() const { return {memory_.get(), size_}; }

private:
    struct Free {
        void operator()(float* memory) const { std::free(memory); }
    };
    std::unique_ptr<float, Free> memory_;
    std::size_t size_ = 0;
};

inline constexpr std::size_t period = 64;

/// Value `index` is `first + factor * (index % 64)`: small whole numbers, whose sums are exact in any order.
using Pattern = std::array<float, period>;
inline Pattern pattern(int first, int factor) {
    Pattern values{};
    for (std::size_t index = 0; index < period; ++index) {
        values[index] = static_cast<float>(first + factor * static_cast<int>(index));
    }
    return values;
}
/// What `rank` contributes, and the sum of what all ranks do.
inline Pattern contribution(int rank) { return pattern(rank, 1); }
inline Pattern sum_of_all(int world_size) { return pattern(world_size * (world_size - 1) / 2, world_size); }

inline void fill(std::span<float> values, const Pattern& pattern) {
    for (std::size_t at = 0; at < values.size(); at += period) {
        std::copy_n(pattern.begin(), (std::min)(period, values.size() - at), values.data() + at);
    }
}

inline bool holds(std::span<const float> values, const Pattern& pattern) {
    for (std::size_t at = 0; at < values.size(); at += period) {
        const std::size_t count = (std::min)(period, values.size() - at);
        if (!std::equal(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(count), values.data() + at)) {
            return false;
        }
    }
    return true;
}

/// What a contender does, as seen by one of its ranks; derive from it, and give it `run()`. A `Buffer` is like Floats:
/// `resize(size)` makes it forget its values, `values()` are where it keeps them.
template <class Buffer>
class AllReduceOf {
public:
    AllReduceOf(int rank, int world_size) : rank_(rank), world_size_(world_size) {}

    int rank() const { return rank_; }
    int world_size() const { return world_size_; }
    std::span<float> values() const { return buffer_.values(); }

    /// A block of operations on `size` values begins: prepares whatever can be prepared outside the clock.
    /// @return the values of this rank, which are written anew before each `run()`
    std::span<float> start(std::size_t size) { return buffer_.resize(size); }
    /// Called now and then while this rank waits for others outside of `run()`.
    void progress() {}
    /// After the last `run()`: is its result right?
    bool is_right() const { return holds(values(), sum_of_all(world_size_)); }

private:
    int rank_;
    int world_size_;
    Buffer buffer_;
};

/// One on ordinary memory.
class AllReduce : public AllReduceOf<Floats> {
public:
    using AllReduceOf::AllReduceOf;
};

/// Binds this thread to the rank's entry of CONTENDER_CPUS, a list as "0,1"; not at all if that is not set.
inline void bind_to_core(int rank) {
    const char* const list = std::getenv("CONTENDER_CPUS");
    if (list == nullptr) return;
    std::istringstream text(list);
    std::string entry;
    for (int skipped = 0; skipped <= rank; ++skipped) {
        if (!std::getline(text, entry, ',')) return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(std::stoi(entry)), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) std::perror("sched_setaffinity");
}

/// Runs one block on this rank. @return on rank 0: the times of the iterations, each that of the slowest rank
template <class Work>
std::vector<double> run_block(Board& board, Work& work, const Command& command) {
    const int rank = work.rank();
    const auto progress = [&] { work.progress(); };
    const std::span<float> values = work.start(command.bytes / sizeof(float));
    const Pattern own = contribution(rank);
    std::vector<double> times;
    for (int iteration = -command.warmup; iteration < command.iterations; ++iteration) {
        fill(values, own);
        board.barrier(progress);
        const auto start = std::chrono::steady_clock::now();
        work.run();
        const auto stop = std::chrono::steady_clock::now();
        board.slot(rank).seconds = std::chrono::duration<double>(stop - start).count();
        board.barrier(progress);  // No rank writes the next time before rank 0 has read this one.
        if (rank != 0 || iteration < 0) continue;
        double slowest = 0;
        for (int each = 0; each < board.world_size(); ++each) {
            slowest = (std::max)(slowest, board.slot(each).seconds);
        }
        times.push_back(slowest);
    }
    board.slot(rank).is_right = work.is_right();
    board.barrier(progress);
    return times;
}

/// The next command on standard input, or the end.
inline Command read_command() {
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
        std::istringstream text(line);
        Command command;
        if (text >> command.bytes >> command.iterations >> command.warmup && command.bytes >= sizeof(float) &&
            command.bytes % sizeof(float) == 0 && command.iterations > 0 && command.warmup >= 0) {
            return command;
        }
        std::printf("refused: \"%s\" is not BYTES ITERATIONS WARMUP\n", line.c_str());
        std::fflush(stdout);
    }
    return {};
}

inline double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

/// Rank 0 obeys its standard input and the others rank 0, until told to quit.
template <class Work>
void serve(Board& board, Work& work) {
    bind_to_core(work.rank());
    try {
        if (work.rank() == 0) board.claim();
        std::uint32_t seen = 0;
        for (;;) {
            Command command;
            if (work.rank() == 0) board.publish(command = read_command());
            else command = board.await(seen);
            if (command.iterations == 0) return;
            const std::vector<double> times = run_block(board, work, command);
            if (work.rank() != 0) continue;
            bool right = true;
            for (int each = 0; each < board.world_size(); ++each) right = right && board.slot(each).is_right;
            if (right) std::printf("ok %.9g\n", median(times));
            else std::printf("wrong\n");
            std::fflush(stdout);
        }
    } catch (...) {
        board.fail();
        throw;
    }
}

/// Calls `work(rank)` in as many processes as the board has ranks; this one is rank 0. Call it while no other thread
/// runs. @return the exit status of this program
template <class Work>
int run_forked(const Board& board, const Work& work) {
    const pid_t parent = ::getpid();
    std::vector<pid_t> children;
    const auto guarded = [&](int rank) {
        try {
            work(rank);
            return 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
            return 1;
        }
    };
    for (int rank = 1; rank < board.world_size(); ++rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::_exit(::getppid() == parent ? guarded(rank) : 1);
        }
        children.push_back(child);
    }
    int status = guarded(0);
    for (const pid_t child : children) {
        int ended = 0;
        if (::waitpid(child, &ended, 0) != child || ended != 0) status = 1;
    }
    return status;
}

}  // namespace peers
