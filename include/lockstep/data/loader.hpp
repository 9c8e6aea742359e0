// SPDX-License-Identifier: MIT
/// @file
/// Loader: an epoch as a sequence of batches, of which each rank copies only the rows that it works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/data/dataset.hpp>
#include <lockstep/data/sampler.hpp>

namespace lockstep {

/// Batches of `batch_size` rows of a dataset, in a sampler's order; the last of an epoch may be smaller.
///
/// A batch is a list of row indices: cheap, and the same on all ranks. Its `slice` copies rows into buffers
/// of the loader, which are reused: after the first epoch nothing is allocated. One loader a rank; ranks that
/// are threads may share the dataset, which must outlive the loader.
///
///     Loader loader{dataset, ShuffledSampler{seed}, 64};
///     // Global batches:
///     for (const auto& batch : loader.epoch(epoch)) replica.backward(batch);
///     // This rank's own:
///     for (const auto& batch : loader.shard_epoch(epoch, rank, world_size)) {
///         replica.backward_shard(batch.all());
///     }
template <Dataset Data, Sampler Order>
class Loader {
public:
    /// The rows of one batch; valid until the loader begins another epoch.
    class RowSelection {
    public:
        std::size_t rows() const noexcept { return indices_.size(); }
        /// Which rows of the dataset these are.
        std::span<const std::size_t> indices() const noexcept { return indices_; }

        /// Rows `range` of this batch, gathered; valid until the next slice of any batch of this loader.
        /// @throws ShapeError if the range leaves the batch, or the sampler has named a row that does not
        /// exist
        auto slice(Shard range) const {
            if (range.begin > rows() || range.size > rows() - range.begin) {
                throw ShapeError("rows " + std::to_string(range.begin) + " to " + std::to_string(range.end()) +
                                 " of a batch of " + std::to_string(rows()) + " rows");
            }
            return loader_->dataset_->gather(indices_.subspan(range.begin, range.size), loader_->scratch_);
        }
        auto all() const { return slice({0, rows()}); }

    private:
        friend class Loader;
        RowSelection(Loader& loader, std::span<const std::size_t> indices) noexcept
            : loader_(&loader), indices_(indices) {}

        Loader* loader_;
        std::span<const std::size_t> indices_;
    };

    /// The batches of one epoch, by number or one after another; valid until the loader begins another epoch.
    class Epoch {
    public:
        class Iterator {
        public:
            RowSelection operator*() const noexcept { return (*epoch_)[step_]; }
            Iterator& operator++() noexcept {
                ++step_;
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

        std::size_t size() const noexcept { return steps_; }
        /// Batch `step`, to go on in the middle of an epoch; empty from where the rows have run out.
        RowSelection operator[](std::size_t step) const noexcept {
            const std::size_t size = loader_->batch_size_;
            // Compared by division: the product of two large numbers would wrap.
            if (step >= loader_->batches(rows_.size())) return {*loader_, {}};
            const std::span<const std::size_t> left = rows_.subspan(step * size);
            return {*loader_, left.first(left.size() < size ? left.size() : size)};
        }
        Iterator begin() const noexcept { return {*this, 0}; }
        Iterator end() const noexcept { return {*this, steps_}; }

    private:
        friend class Loader;
        Epoch(Loader& loader, std::span<const std::size_t> rows, std::size_t steps) noexcept
            : loader_(&loader), rows_(rows), steps_(steps) {}

        Loader* loader_;
        std::span<const std::size_t> rows_;
        std::size_t steps_;
    };

    /// @throws ConfigurationError if `batch_size` is 0
    Loader(const Data& dataset, Order sampler, std::size_t batch_size)
        : dataset_(&dataset), sampler_(std::move(sampler)), batch_size_(batch_size) {
        if (batch_size == 0) throw ConfigurationError("batch_size must be at least 1, not 0");
    }
    /// The dataset must outlive the loader: a temporary one would not.
    Loader(const Data&&, Order, std::size_t) = delete;

    std::size_t batch_size() const noexcept { return batch_size_; }
    /// Batches that `rows` rows make; 0 without rows.
    std::size_t batches(std::size_t rows) const noexcept {
        return rows / batch_size_ + (rows % batch_size_ != 0 ? 1 : 0);
    }
    /// Batches of an epoch over the whole dataset.
    std::size_t batches() const noexcept { return batches(dataset_->size()); }

    /// Epoch number `epoch` over all rows, in global batches.
    Epoch epoch(std::uint64_t epoch) {
        draw(epoch);
        return {*this, order_, batches()};
    }

    /// The positions `own` of the epoch's order only, in batches of this rank alone: `steps` of them, empty
    /// ones at the end if the rows run out, so that every rank takes part in every step. `steps` must be the
    /// same on all ranks: `batches(rows of the largest shard)`. A rank whose dataset holds nothing but its
    /// own rows passes `{0, size}` as its shard.
    /// @throws ShapeError if `own` leaves the dataset, ConfigurationError if `steps` is too small for it
    Epoch shard_epoch(std::uint64_t epoch, Shard own, std::size_t steps) {
        const std::size_t rows = dataset_->size();
        if (own.begin > rows || own.size > rows - own.begin) {
            throw ShapeError("rows " + std::to_string(own.begin) + " to " + std::to_string(own.end()) +
                             " of a dataset of " + std::to_string(rows) + " rows");
        }
        if (steps < batches(own.size)) {
            throw ConfigurationError("steps must be at least " + std::to_string(batches(own.size)) +
                                     " for a shard of " + std::to_string(own.size) + " rows in batches of " +
                                     std::to_string(batch_size_) + ", not " + std::to_string(steps));
        }
        draw(epoch);
        return {*this, std::span<const std::size_t>(order_).subspan(own.begin, own.size), steps};
    }

    /// The same for the shard that `shard_of` gives to this rank.
    /// @throws ConfigurationError if `rank` is outside the world
    Epoch shard_epoch(std::uint64_t epoch, int rank, int world_size) {
        const std::size_t rows = dataset_->size();
        return shard_epoch(epoch, shard_of(rows, rank, world_size), batches(shard_of(rows, 0, world_size).size));
    }

private:
    void draw(std::uint64_t epoch) {
        order_.resize(dataset_->size());
        sampler_.fill(std::span<std::size_t>(order_), epoch);
    }

    const Data* dataset_;
    Order sampler_;
    std::size_t batch_size_;
    std::vector<std::size_t> order_;
    typename Data::scratch_type scratch_{};
};

}  // namespace lockstep
