// SPDX-License-Identifier: MIT
/// @file
/// A progress bar for people: on a terminal it moves, anywhere else it is silent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// `epoch 2 [=====>....] 45/90  loss 0.1234  5210 rows/s  4 s left`, redrawn in place at most ten times a second.
class Progress {
public:
    /// `total` rows are to be done. Draws on `stream` only if that is a terminal and `wanted`.
    Progress(std::string label, std::size_t total, bool wanted = true, std::FILE* stream = stderr)
        : label_(std::move(label)),
          total_(total),
          stream_(stream),
          shown_(wanted && ::isatty(::fileno(stream)) == 1),
          start_(Clock::now()),
          drawn_(start_) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// Wipes the bar, so that what is printed next starts on a clean line.
    ~Progress() {
        if (shown_) std::fputs("\r\033[K", stream_);
    }

    /// `rows` more rows are done, the last with this loss.
    void advance(std::size_t rows, double loss) {
        done_ += rows;
        if (!shown_) return;
        const auto now = Clock::now();
        if (now - drawn_ < std::chrono::milliseconds(100) && done_ < total_) return;
        drawn_ = now;
        std::string text = line(loss, std::chrono::duration<double>(now - start_).count());
        text.insert(text.begin(), '\r');
        std::fputs(text.append("\033[K").c_str(), stream_);
        std::fflush(stream_);
    }

    std::size_t done() const noexcept { return done_; }

    /// The text of the bar after `seconds`.
    std::string line(double loss, double seconds) const {
        constexpr std::size_t width = 24;
        const std::size_t capped = done_ < total_ ? done_ : total_;
        const std::size_t filled = total_ == 0 ? width : capped * width / total_;
        std::string bar(filled, '=');
        if (filled < width) bar += '>' + std::string(width - filled - 1, '.');
        const double speed = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
        const double left = speed > 0 ? static_cast<double>(total_ - capped) / speed : 0;
        char numbers[128];
        std::snprintf(numbers, sizeof numbers, "] %zu/%zu  loss %.4f  %.0f rows/s  %.0f s left", done_, total_, loss,
                      speed, left);
        return label_ + " [" + bar + numbers;
    }

private:
    using Clock = std::chrono::steady_clock;

    std::string label_;
    std::size_t total_;
    std::size_t done_ = 0;
    std::FILE* stream_;
    bool shown_;
    Clock::time_point start_;
    Clock::time_point drawn_;
};

}  // namespace lockstep
