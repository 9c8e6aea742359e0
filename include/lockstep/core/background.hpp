// SPDX-License-Identifier: MIT
/// @file
/// Background: one thread that does jobs in the order in which they are posted.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <lockstep/core/config.hpp>

namespace lockstep::detail {

/// What a job throws is thrown again by `wait`; jobs posted after it and before that are not done.
/// Posting allocates only when more jobs wait than ever before.
template <class Job>
class Background {
public:
    /// `work(job)` is called on the thread.
    template <class Work>
    explicit Background(Work work) : work_(std::move(work)) {
        // Signals are for the threads of the program that we are in.
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            thread_ = std::thread([this] { run(); });
        } catch (...) {
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Does what has been posted, then ends the thread.
    ~Background() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        posted_.notify_one();
        thread_.join();
    }

    void post(Job job) {
        {
            const std::lock_guard lock(mutex_);
            jobs_.push_back(std::move(job));
        }
        posted_.notify_one();
    }

    /// Returns when all jobs are done. @throws what the first that threw has thrown
    void wait() {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return next_ == jobs_.size(); });
        jobs_.clear();
        next_ = 0;
        if (std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            posted_.wait(lock, [this] { return next_ < jobs_.size() || ends_; });
            if (next_ == jobs_.size()) return;
            if (!failure_) {
                Job job = std::move(jobs_[next_]);
                lock.unlock();
                std::exception_ptr failure;
                try {
                    work_(job);
                } catch (...) {
                    failure = std::current_exception();
                }
                lock.lock();
                failure_ = failure;
            }
            if (++next_ == jobs_.size()) done_.notify_one();
        }
    }

    std::function<void(Job&)> work_;
    std::mutex mutex_;
    std::condition_variable posted_;
    std::condition_variable done_;
    std::vector<Job> jobs_;
    std::size_t next_ = 0;
    std::exception_ptr failure_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace lockstep::detail
