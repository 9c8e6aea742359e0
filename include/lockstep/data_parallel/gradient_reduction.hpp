// SPDX-License-Identifier: MIT
/// @file
/// The communication of a step: the loss, and the gradients bucket by bucket.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include <lockstep/collectives/owner_action.hpp>
#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/background.hpp>
#include <lockstep/core/pass_context.hpp>
#include <lockstep/core/stretch.hpp>
#include <lockstep/data_parallel/options.hpp>
#include <lockstep/transport/board.hpp>

namespace lockstep::detail {

/// Jobs of one step, in an order that is the same on all ranks: sums that layers ask for, the loss with its weight and
/// rows, then buckets of gradients from the last to the first, cut at fixed places. A step in which the total weight is 0
/// moves no gradients, on any rank.
template <class Scalar, class Reducer, class Link>
class GradientReduction final : public GlobalBatch {
public:
    explicit GradientReduction(const DataParallelOptions& options) : options_(options) { check(options_); }

    /// What the jobs of a step work on; called at the start of each, since a DataParallel may move between steps.
    /// `eager`: gradients of the pass to come are the last of their step.
    void begin(Link& link, Reducer& reducer, std::span<Scalar> gradients, double rows, bool eager) {
        pass_is(nullptr);
        link_ = &link;
        reducer_ = &reducer;
        gradients_ = gradients;
        rows_ = rows;
        eager_ = eager && options_.overlap != Overlap::none;
        posted_loss_ = false;
        unposted_ = gradients.size();
        if (options_.overlap == Overlap::per_bucket_by_thread && !background_) {
            background_ = std::make_unique<Background<Job>>([](const Job& job) { job.owner->work(job); });
        }
    }

    void sum(std::span<double> values) override {
        post({this, values, {}});
        wait();
    }

    void loss_is(LossSum own) override {
        if constexpr (Watches<Link>) {
            if (pass_ != nullptr) pass_->split("forward", "backward");
        }
        if (!eager_ || posted_loss_) return;
        posted_loss_ = true;
        total_ = {own.sum, own.weight, rows_};
        post({this, std::span<double>(total_), {}});
    }

    void gradients_are_final_from(const void* first) override {
        if (!reduces_early()) return;
        const auto* const place = static_cast<const Scalar*>(first);
        if (gradients_.empty() || place < gradients_.data()) return;
        post_from(static_cast<std::size_t>(place - gradients_.data()));
    }

    /// The pass that begins, or null at its end: a watched link is told when forward is done.
    void pass_is([[maybe_unused]] Stretch<Link>* pass) noexcept {
        if constexpr (Watches<Link>) pass_ = pass;
    }

    bool reduces_early() const noexcept override { return eager_ && posted_loss_; }

    /// Of a step whose gradients are not all-reduced. @return the sums over all ranks of loss, weight and rows
    std::array<double, 3> finish_without_gradients(LossSum own, double rows) {
        unposted_ = 0;
        return finish(own, rows);
    }
    /// All that the pass has not begun itself. @return the sums over all ranks of loss, weight and rows
    std::array<double, 3> finish(LossSum own, double rows) {
        rows_ = rows;
        eager_ = true;
        loss_is(own);
        post_from(0);
        wait();
        return total_;
    }

    /// After an exception: returns when nothing is under way any more. What was begun ends, or fails with the others.
    void abandon() noexcept {
        try {
            wait();
        } catch (...) {
            // The exception that led here says more.
        }
    }

private:
    struct Job {
        GradientReduction* owner = nullptr;
        std::span<double> values{};
        std::span<Scalar> bucket{};
    };

    std::size_t bucket_size() const noexcept {
        if (options_.overlap == Overlap::none) return (std::max)(gradients_.size(), std::size_t{1});
        constexpr std::size_t usual = SharedAddressSpace<Link> ? std::size_t{256} << 10 : std::size_t{1} << 20;
        return (options_.bucket_bytes == 0 ? usual : options_.bucket_bytes) / 64 * 64 / sizeof(Scalar);
    }

    /// The buckets that lie at `first` or above it. The last is the shorter one: it is the first to be ready.
    void post_from(std::size_t first) {
        const std::size_t size = bucket_size();
        while (unposted_ > first) {
            const std::size_t begin = (unposted_ - 1) / size * size;
            if (begin < first) return;
            post({this, {}, gradients_.subspan(begin, unposted_ - begin)});
            unposted_ = begin;
        }
    }

    void post(const Job& job) {
        if (background_) background_->post(job);
        else work(job);
    }
    void wait() {
        if (background_) background_->wait();
    }

    void work(const Job& job) {
        Link& link = *link_;
        if (job.bucket.empty()) {
            const Stretch<Link> stretch(link, "reduce sums", job.values.size_bytes());
            return reducer_->all_reduce(link, job.values);
        }
        // All ranks see the same total, so all of them stop here or none does.
        if (total_[1] == 0) return;
        const Stretch<Link> stretch(link, "reduce bucket", job.bucket.size_bytes());
        reducer_->all_reduce(link, job.bucket, Sum{}, DivideBy<Scalar>{static_cast<Scalar>(total_[1])});
    }

    struct Unwatched {};

    DataParallelOptions options_;
    [[no_unique_address]] std::conditional_t<Watches<Link>, Stretch<Link>*, Unwatched> pass_{};
    Link* link_ = nullptr;
    Reducer* reducer_ = nullptr;
    std::span<Scalar> gradients_{};
    double rows_ = 0;
    bool eager_ = false;
    bool posted_loss_ = false;
    std::size_t unposted_ = 0;  ///< gradients below it are in buckets to come
    std::array<double, 3> total_{};
    std::unique_ptr<Background<Job>> background_;
};

}  // namespace lockstep::detail
