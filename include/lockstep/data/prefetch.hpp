// SPDX-License-Identifier: MIT
/// @file
/// Prefetcher: a Loader whose next batch a thread gathers while the present one is worked on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <lockstep/core/background.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/loader.hpp>
#include <lockstep/data/sampler.hpp>

namespace lockstep {

/// The same batches as a Loader, in the same order; of each, the rows of this rank are there when they are asked for.
///
///     Prefetcher batches{dataset, ShuffledSampler{seed}, 64, replica.rank(), replica.world_size()};
///     for (const auto& batch : batches.epoch(epoch)) replica.backward(batch);
///
/// Worth it where rows are dear: read, decoded, augmented. Memory: two batches of one rank. After the first epoch nothing
/// is allocated. What the dataset throws, it throws to the caller, when the batch is reached.
template <Dataset Data, Sampler Order>
class Prefetcher {
    using Inner = Loader<Data, Order>;
    using Rows = decltype(std::declval<const Data&>().gather({}, std::declval<typename Data::scratch_type&>()));

public:
    /// The rows of one batch; valid until the next is reached.
    class Batch {
    public:
        std::size_t rows() const noexcept { return selection_.rows(); }
        /// Which rows of the dataset these are.
        std::span<const std::size_t> indices() const noexcept { return selection_.indices(); }
        /// Rows `range` of this batch: at once if they are this rank's shard, gathered now if they are others.
        /// @throws ShapeError if the range leaves the batch
        Rows slice(Shard range) const { return range == own_ && *rows_ ? **rows_ : selection_.slice(range); }
        Rows all() const { return slice({0, rows()}); }

    private:
        friend class Prefetcher;
        Batch(typename Inner::RowSelection selection, Shard own, const std::optional<Rows>& rows) noexcept
            : selection_(selection), own_(own), rows_(&rows) {}

        typename Inner::RowSelection selection_;
        Shard own_;
        const std::optional<Rows>* rows_;
    };

    /// The batches of one epoch, once, one after another; valid until another epoch begins.
    class Epoch {
    public:
        class Iterator {
        public:
            Batch operator*() const noexcept { return epoch_->owner_->batch(epoch_->batches_, step_); }
            Iterator& operator++() {
                epoch_->owner_->reach(epoch_->batches_, ++step_);
                return *this;
            }
            friend bool operator==(const Iterator& left, const Iterator& right) noexcept {
                return left.step_ == right.step_;
            }

        private:
            friend class Epoch;
            Iterator(const Epoch& epoch, std::size_t step) noexcept : epoch_(&epoch), step_(step) {}
            const Epoch* epoch_;
            std::size_t step_;
        };

        std::size_t size() const noexcept { return batches_.size(); }
        Iterator begin() const { return begin_at(0); }
        /// To go on in the middle of an epoch, at batch `step`.
        Iterator begin_at(std::size_t step) const {
            owner_->settle();
            if (step < size()) owner_->post(batches_, step);
            owner_->reach(batches_, step);
            return {*this, step};
        }
        Iterator end() const noexcept { return {*this, size()}; }

    private:
        friend class Prefetcher;
        Epoch(Prefetcher& owner, typename Inner::Epoch batches) noexcept : owner_(&owner), batches_(batches) {}

        Prefetcher* owner_;
        typename Inner::Epoch batches_;
    };

    /// @throws ConfigurationError if `batch_size` is 0 or `rank` outside the world
    Prefetcher(const Data& dataset, Order sampler, std::size_t batch_size, int rank = 0, int world_size = 1)
        : loader_(dataset, std::move(sampler), batch_size),
          rank_(rank),
          world_size_(world_size),
          thread_(
              [this, &dataset](const Job& job) { ready_[job.side] = dataset.gather(job.rows, scratch_[job.side]); }) {
        shard_of(batch_size, rank, world_size);
    }
    /// The dataset must outlive this: a temporary one would not.
    Prefetcher(const Data&&, Order, std::size_t, int = 0, int = 1) = delete;

    /// Batches of an epoch.
    std::size_t batches() const noexcept { return loader_.batches(); }

    /// Epoch number `epoch` over all rows, in global batches.
    Epoch epoch(std::uint64_t epoch) {
        settle();
        return {*this, loader_.epoch(epoch)};
    }

private:
    struct Job {
        std::span<const std::size_t> rows;
        std::size_t side;  ///< into which of the two buffers
    };

    Shard own(std::size_t rows) const { return shard_of(rows, rank_, world_size_); }
    Batch batch(const typename Inner::Epoch& batches, std::size_t step) const noexcept {
        const auto selection = batches[step];
        return {selection, own(selection.rows()), ready_[step % 2]};
    }
    void post(const typename Inner::Epoch& batches, std::size_t step) {
        const std::span<const std::size_t> rows = batches[step].indices();
        const Shard mine = own(rows.size());
        thread_.post({rows.subspan(mine.begin, mine.size), step % 2});
    }
    /// Batch `step` is there, and the one after it is on its way.
    void reach(const typename Inner::Epoch& batches, std::size_t step) {
        thread_.wait();
        if (step < batches.size() && step + 1 < batches.size()) post(batches, step + 1);
    }
    /// Nothing is on its way, whatever came of it: the order of rows may change.
    void settle() noexcept {
        try {
            thread_.wait();
        } catch (...) {
            ready_ = {};  // Of a batch that nobody has asked for.
        }
    }

    Inner loader_;
    int rank_;
    int world_size_;
    std::array<typename Data::scratch_type, 2> scratch_{};
    std::array<std::optional<Rows>, 2> ready_{};
    detail::Background<Job> thread_;  ///< last, so that it ends before what it fills
};

}  // namespace lockstep
