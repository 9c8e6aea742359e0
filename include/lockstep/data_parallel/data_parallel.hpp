// SPDX-License-Identifier: MIT
/// @file
/// DataParallel<Model, Reducer, Transport>: every copy of the model takes the same step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/collectives/executor.hpp>
#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/data_parallel/agreement.hpp>
#include <lockstep/data_parallel/requirements.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/threads.hpp>

namespace lockstep {

/// The loss of a step over all ranks: mean over the total weight. A weight of 0 says that no rank had a row left.
struct MeanLoss {
    double mean = 0;
    double weight = 0;
};

/// One rank's replica of a model.
///
/// Gradients are averaged as sum(w g) / sum(w) over the rows of *all* ranks: equal to the gradient of the whole batch
/// whatever the shards, empty ones included. One owner of a piece divides and the others receive its bits, or several
/// owners do the same sums in the same order: all replicas hold the same bits after every step.
///
/// Cost of a step: one all-reduce of the gradients and one of two doubles (loss and weight).
/// Errors: what one rank throws in here, all ranks throw (the rank itself its own exception, the others the same
/// error or a RemoteError with its text); parameters are not touched by `backward`; the transport is unusable after.
template <class Net, class Strategy = Ring, class Link = Threads>
class DataParallel : detail::DataParallelRequirements<Net, Strategy, Link> {
public:
    using scalar_type = typename Net::scalar_type;
    using reducer_type = reducer_of<Strategy>;

    /// Compares the manifests of all ranks, then copies rank 0's parameters to all.
    /// @throws ShapeError on all ranks, naming rank and first difference, if models differ; nothing is changed then
    DataParallel(Net model, Link link, reducer_type reducer = {})
        : model_(std::move(model)), link_(std::move(link)), reducer_(std::move(reducer)) {
        fail_together(link_, [&] {
            detail::check_model(model_);
            detail::agree_on_model(model_, link_);
            broadcast(link_, std::span<scalar_type>(model_.parameters()));
        });
    }

    /// Shard, backward, average: `batch` is the *global* batch, the same on every rank, of which this rank works on
    /// the rows of `shard_of(batch.rows(), rank, world_size)`. Gradients of the step before are overwritten.
    /// @return the mean loss over the global batch, the same on every rank
    /// @throws ShapeError on every rank if the batch has no rows
    template <Sliceable Batch>
    MeanLoss backward(const Batch& batch) {
        return fail_together(link_, [&] {
            const Shard own = own_rows(batch);
            begin();
            // A rank without rows has no part in the sum; its model need not cope with empty batches.
            if (own.size > 0) differentiate(batch.slice(own));
            return reduce();
        });
    }

    /// The same for rows that this rank has loaded itself; ranks may bring different numbers, or none.
    /// @return mean and total weight over all ranks; a weight of 0 if no rank brought any row: gradients are then 0
    template <class Rows>
    MeanLoss backward_shard(const Rows& rows) {
        return fail_together(link_, [&] {
            begin();
            if (rows.rows() > 0) differentiate(rows);
            return reduce();
        });
    }

    /// A large batch in several parts, with one communication: `accumulate` each part, a global batch like that of
    /// `backward`, the same on every rank, then `average`. `backward` begins anew.
    /// @throws ShapeError on every rank if the part has no rows
    template <Sliceable Batch>
    void accumulate(const Batch& part) {
        fail_together(link_, [&] {
            const Shard own = own_rows(part);
            accumulate_own([&] {
                if (own.size > 0) differentiate(part.slice(own));
            });
        });
    }
    /// The same for rows that this rank has loaded itself; ranks may bring different numbers of rows and of parts.
    template <class Rows>
    void accumulate_shard(const Rows& rows) {
        fail_together(link_, [&] {
            accumulate_own([&] {
                if (rows.rows() > 0) differentiate(rows);
            });
        });
    }
    /// Averages over all that was accumulated since the last average, as one batch.
    MeanLoss average() {
        return fail_together(link_, [&] {
            if (!accumulating_) begin();
            return reduce();
        });
    }

    /// The mean loss over a global batch, without a gradient: each row counts once, on the rank whose shard it is in.
    /// Gradients stay as they are. @throws ShapeError on every rank if the batch has no rows
    template <Sliceable Batch>
    MeanLoss evaluate(const Batch& batch) {
        return fail_together(link_, [&] {
            const Shard own = own_rows(batch);
            using Rows = decltype(batch.slice(own));
            static_assert(EvaluatesRows<Net, Rows>,
                          "DataParallel: the model has no loss(rows) for these rows that returns a LossSum");
            LossSum sum;
            if (own.size > 0) sum = model_.loss(batch.slice(own));
            std::array<double, 2> total{sum.sum, sum.weight};
            reducer_.all_reduce(link_, std::span<double>(total));
            return total[1] == 0 ? MeanLoss{} : MeanLoss{total[0] / total[1], total[1]};
        });
    }

    /// Copies rank 0's optimizer state to all ranks: for optimizers that have already stepped or were loaded.
    /// @throws ShapeError on all ranks if the sizes of the states differ
    template <class Optimizer>
    void synchronize(Optimizer& optimizer) {
        fail_together(link_, [&] {
            auto state = optimizer.state();
            broadcast(link_, std::span(state));
            if constexpr (requires { optimizer.set_steps(optimizer.steps()); }) {
                std::int64_t steps = optimizer.steps();
                broadcast(link_, std::span(&steps, 1));
                optimizer.set_steps(steps);
            }
            // Ranks that only send, or get what they expect, learn here that others do not.
            barrier(link_);
        });
    }

    Net& model() noexcept { return model_; }
    const Net& model() const noexcept { return model_; }
    Link& transport() noexcept { return link_; }
    int rank() const noexcept { return link_.rank(); }
    int world_size() const noexcept { return link_.world_size(); }

private:
    void clear() {
        for (scalar_type& gradient : std::span<scalar_type>(model_.gradients())) gradient = 0;
    }

    void begin() {
        clear();
        sum_ = {};
    }

    /// What has thrown half-way is not added to.
    template <class Work>
    void accumulate_own(const Work& work) {
        if (!std::exchange(accumulating_, false)) begin();
        work();
        accumulating_ = true;
    }

    template <class Batch>
    Shard own_rows(const Batch& batch) const {
        if (batch.rows() == 0) throw ShapeError("the global batch has no rows");
        return shard_of(batch.rows(), link_.rank(), link_.world_size());
    }

    template <class Rows>
    void differentiate(const Rows& rows) {
        static_assert(RunsBackward<Net, Rows>,
                      "DataParallel: the model has no backward(rows) for these rows that returns a LossSum");
        const LossSum own = model_.backward(rows);
        sum_.sum += own.sum;
        sum_.weight += own.weight;
    }

    MeanLoss reduce() {
        accumulating_ = false;
        std::array<double, 2> total{sum_.sum, sum_.weight};
        reducer_.all_reduce(link_, std::span<double>(total));
        // All ranks see the same total, so all of them stop here or none does.
        if (total[1] == 0) {
            clear();  // Rows without weight may have left something, on each rank something else.
            return {0, 0};
        }
        reducer_.all_reduce(link_, std::span<scalar_type>(model_.gradients()), Sum{},
                            DivideBy<scalar_type>{static_cast<scalar_type>(total[1])});
        return {total[0] / total[1], total[1]};
    }

    Net model_;
    Link link_;
    reducer_type reducer_;
    LossSum sum_{};              ///< of this rank, since the last average
    bool accumulating_ = false;  ///< has anything been accumulated since?
};

}  // namespace lockstep
