// SPDX-License-Identifier: MIT
/// @file
/// DataParallel<Model, Reducer, Transport>: every copy of the model takes the same step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/collectives/executor.hpp>
#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/core/pass_context.hpp>
#include <lockstep/core/stretch.hpp>
#include <lockstep/data_parallel/agreement.hpp>
#include <lockstep/data_parallel/gradient_reduction.hpp>
#include <lockstep/data_parallel/mean_loss.hpp>
#include <lockstep/data_parallel/options.hpp>
#include <lockstep/data_parallel/requirements.hpp>
#include <lockstep/data_parallel/sharded_step.hpp>
#include <lockstep/data_parallel/unused.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/threads.hpp>

namespace lockstep {

/// One rank's replica of a model.
///
/// Gradients are averaged as sum(w g) / sum(w) over the rows of *all* ranks: equal to the gradient of the whole batch
/// whatever the shards, empty ones included. One owner of a piece divides and the others receive its bits, or several
/// owners do the same sums in the same order: all replicas hold the same bits after every step.
///
/// Cost of a step: one all-reduce of the gradients and one of three doubles (loss, weight, rows). `DataParallelOptions`
/// has the gradients reduced bucket by bucket while backward runs; ranks then reduce other pieces, so that a topology
/// that adds in an order of its own for each chunk may round otherwise than without buckets.
/// Errors: what one rank throws in here, all ranks throw (the rank itself its own exception, the others the same
/// error or a RemoteError with its text); parameters are not touched by `backward`; the transport is unusable after.
template <class Net, class Strategy = Ring, class Link = Threads>
class DataParallel : detail::DataParallelRequirements<Net, Strategy, Link> {
public:
    using scalar_type = typename Net::scalar_type;
    using reducer_type = reducer_of<Strategy>;

    /// Compares the manifests of all ranks, then copies rank 0's parameters to all.
    /// @throws ShapeError on all ranks, naming rank and first difference, if models differ; nothing is changed then
    DataParallel(Net model, Link link, reducer_type reducer = {}, const DataParallelOptions& options = {})
        : model_(std::move(model)),
          link_(std::move(link)),
          reducer_(std::move(reducer)),
          reduction_(options),
          unused_(model_) {
        fail_together(link_, [&] {
            detail::check_model(model_);
            detail::agree_on_model(model_, link_);
            broadcast(link_, std::span<scalar_type>(model_.parameters()));
            if constexpr (HasModelBuffers<Net>) broadcast(link_, std::span<scalar_type>(model_.buffers()));
            if constexpr (HasConstants<Net>) broadcast(link_, std::span<scalar_type>(model_.constants()));
            if constexpr (HasSeed<Net>) {
                auto seed = static_cast<std::int64_t>(model_.seed());
                broadcast(link_, std::span(&seed, 1));
                model_.set_seed(static_cast<std::uint64_t>(seed));
            }
        });
    }
    DataParallel(Net model, Link link, const DataParallelOptions& options)
        : DataParallel(std::move(model), std::move(link), {}, options) {}

    /// Shard, backward, average: `batch` is the *global* batch, the same on every rank, of which this rank works on
    /// the rows of `shard_of(batch.rows(), rank, world_size)`. Gradients of the step before are overwritten.
    /// @return the mean loss over the global batch, the same on every rank
    /// @throws ShapeError on every rank if the batch has no rows
    template <Sliceable Batch>
    MeanLoss backward(const Batch& batch) {
        return fail_together(link_, [&] {
            const Shard own = own_rows(batch);
            begin(own.size, Reduces::eagerly);
            // A rank without rows has no part in the sum; its model need not cope with empty batches.
            if (own.size > 0 || runs_without_rows) differentiate(batch.slice(own), own.begin);
            return reduce();
        });
    }

    /// The same for rows that this rank has loaded itself; ranks may bring different numbers, or none.
    /// @return mean and total weight over all ranks; a weight of 0 if no rank brought any row: gradients are then 0
    template <class Rows>
    MeanLoss backward_shard(const Rows& rows) {
        return fail_together(link_, [&] {
            begin(rows.rows(), Reduces::eagerly);
            if (const std::size_t first = first_row(rows.rows()); rows.rows() > 0 || runs_without_rows) {
                differentiate(rows, first);
            }
            return reduce();
        });
    }
    /// The same by a rank that has no rows left while others go on.
    MeanLoss backward_shard() {
        if constexpr (runs_without_rows) return backward_shard(typename Net::batch_type{});
        return fail_together(link_, [&] {
            begin(0, Reduces::eagerly);
            first_row(0);
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
            accumulate_own(own.size, [&] {
                const std::size_t first = std::exchange(parts_rows_, parts_rows_ + part.rows()) + own.begin;
                if (own.size > 0 || runs_without_rows) differentiate(part.slice(own), first);
            });
        });
    }
    /// The same for rows that this rank has loaded itself; ranks may bring different numbers of rows and of parts (of
    /// parts as many, if the model's layers sum over ranks or draw by row: BatchNorm, Dropout).
    template <class Rows>
    void accumulate_shard(const Rows& rows) {
        fail_together(link_, [&] {
            accumulate_own(rows.rows(), [&] {
                const std::size_t first = parts_rows_ + first_row(rows.rows());
                parts_rows_ += rows_of_all_;
                if (rows.rows() > 0 || runs_without_rows) differentiate(rows, first);
            });
        });
    }
    /// Averages over all that was accumulated since the last average, as one batch.
    MeanLoss average() {
        return fail_together(link_, [&] {
            if (!accumulating_) begin(0, Reduces::at_the_end);
            return reduce();
        });
    }

    /// Averages what was accumulated and steps, with the optimizer's state sharded over the ranks (ZeRO stage 1: Rajbhandari
    /// et al., 2020): every owner of a piece averages its gradients, steps its parameters, and hands these out. The bits
    /// are those of `average` and `step`, bytes and messages those of the same reducer's all-reduce.
    ///
    ///     replica.accumulate(batch);
    ///     const MeanLoss loss = replica.average_and_step(adam);
    ///
    /// `gradients()` are unspecified afterwards. After an error parameters are too: go on from a checkpoint.
    /// @throws ConfigurationError, before anything is moved, if options of the optimizer differ between ranks
    template <class Optimizer>
    MeanLoss average_and_step(Optimizer& optimizer, const ShardedStepOptions& options = {}) {
        const detail::Stretch<Link> stretch(link_, "average and step");
        return fail_together(link_, [&] {
            if (!accumulating_) begin(0, Reduces::at_the_end);
            const MeanLoss loss = settle(reduction_.finish_without_gradients(sum_, rows_));
            const auto divisor = static_cast<scalar_type>(loss.weight == 0 ? 1 : loss.weight);
            detail::sharded_step(link_, reducer_, model_, optimizer, divisor, unused(), options, sharded_);
            return loss;
        });
    }
    /// The optimizer with the state of all ranks, on every rank: for a checkpoint. `average_and_step` takes it back.
    template <class Optimizer>
    Optimizer with_whole_state(const Optimizer& optimizer) {
        return fail_together(link_, [&] { return detail::gather_state(link_, reducer_, model_, optimizer); });
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
            std::array<double, 3> total{sum.sum, sum.weight, static_cast<double>(own.size)};
            reducer_.all_reduce(link_, std::span<double>(total));
            return MeanLoss::of(total);
        });
    }

    /// `values` become their sums over all ranks: for numbers that are counted beside the loss, such as rows classified
    /// right. Divide after the sum: a mean of ranks' means counts rows of small shards for more.
    void sum(std::span<double> values) {
        fail_together(link_, [&] { reducer_.all_reduce(link_, values); });
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

    /// One step of `optimizer` with the gradients of this replica; what was `unused()` stays as it is.
    template <class Optimizer>
    void step(Optimizer& optimizer) {
        const detail::Stretch<Link> stretch(link_, "step");
        fail_together(link_, [&] { optimizer.step(model_, unused()); });
    }
    /// Ranges of the parameters that no rank used in the last step, ascending: empty unless the model has `used()`.
    std::span<const Shard> unused() const noexcept { return unused_.ranges(); }

    Net& model() noexcept { return model_; }
    const Net& model() const noexcept { return model_; }
    Link& transport() noexcept { return link_; }
    int rank() const noexcept { return link_.rank(); }
    int world_size() const noexcept { return link_.world_size(); }
    /// How many steps were averaged: what is random in a step (Dropout) is drawn by this number.
    std::uint64_t steps() const noexcept { return steps_; }
    /// To go on where another run has ended. The same on all ranks.
    void set_steps(std::uint64_t steps) noexcept { steps_ = steps; }

private:
    /// Do the passes of this model talk to other ranks, so that those without rows must make them too?
    static constexpr bool runs_without_rows = detail::traits_of<Net>.sums_over_ranks;

    enum class Reduces { eagerly, at_the_end };

    void clear() {
        for (scalar_type& gradient : std::span<scalar_type>(model_.gradients())) gradient = 0;
    }

    void begin(std::size_t rows, Reduces when) {
        clear();
        sum_ = {};
        rows_ = static_cast<double>(rows);
        parts_rows_ = 0;
        accumulating_ = false;
        unused_.begin(model_);
        reduction_.begin(link_, reducer_, model_.gradients(), rows_, when == Reduces::eagerly);
    }

    /// What has thrown half-way is not added to.
    template <class Work>
    void accumulate_own(std::size_t rows, const Work& work) {
        if (std::exchange(accumulating_, false)) rows_ += static_cast<double>(rows);
        else begin(rows, Reduces::at_the_end);
        work();
        accumulating_ = true;
    }

    /// Which row of the global batch is the first of the `own` rows of this rank: those of lower ranks come before.
    /// Asked for only if the model wants to know. Counts are exact in doubles up to 2^53 rows.
    std::size_t first_row(std::size_t own) {
        rows_of_all_ = 0;
        if constexpr (detail::traits_of<Net>.uses_global_rows) {
            counts_.assign(static_cast<std::size_t>(world_size()), 0);
            counts_[static_cast<std::size_t>(rank())] = static_cast<double>(own);
            reducer_.all_reduce(link_, std::span<double>(counts_));
            std::size_t first = 0;
            for (int peer = 0; peer < world_size(); ++peer) {
                const auto rows = static_cast<std::size_t>(counts_[static_cast<std::size_t>(peer)]);
                if (peer < rank()) first += rows;
                rows_of_all_ += rows;
            }
            return first;
        }
        return 0;
    }

    template <class Batch>
    Shard own_rows(const Batch& batch) const {
        if (batch.rows() == 0) throw ShapeError("the global batch has no rows");
        return shard_of(batch.rows(), link_.rank(), link_.world_size());
    }

    template <class Rows>
    void differentiate(const Rows& rows, std::size_t first_row) {
        static_assert(RunsBackward<Net, Rows>,
                      "DataParallel: the model has no backward(rows) for these rows that returns a LossSum");
        const LossSum own = [&] {
            detail::Stretch<Link> pass(link_, "forward and backward");
            reduction_.pass_is(&pass);
            try {
                if constexpr (RunsBackwardInContext<Net, Rows>) {
                    return model_.backward(rows,
                                           PassContext{.step = steps_, .first_row = first_row, .global = &reduction_});
                } else {
                    return LossSum(model_.backward(rows));
                }
            } catch (...) {
                reduction_.abandon();
                throw;
            }
        }();
        reduction_.pass_is(nullptr);
        sum_.sum += own.sum;
        sum_.weight += own.weight;
    }

    MeanLoss reduce() { return settle(reduction_.finish(sum_, rows_)); }

    MeanLoss settle(const std::array<double, 3>& sums) {
        accumulating_ = false;
        const MeanLoss loss = MeanLoss::of(sums);
        // Rows without weight may have left something, on each rank something else.
        if (loss.weight == 0) clear();
        else average_buffers(loss.weight);
        unused_.agree(model_, reducer_, link_);
        ++steps_;
        return loss;
    }

    /// Buffers that went different ways meet again, each weighing as much as its rank's rows.
    void average_buffers(double weight) {
        if constexpr (detail::traits_of<Net>.local_buffers) {
            const std::span<scalar_type> buffers = model_.buffers();
            if (buffers.empty()) return;
            counts_.resize(buffers.size());
            for (std::size_t index = 0; index < buffers.size(); ++index) {
                counts_[index] = sum_.weight == 0 ? 0 : static_cast<double>(buffers[index]) * sum_.weight;
            }
            reducer_.all_reduce(link_, std::span<double>(counts_));
            for (std::size_t index = 0; index < buffers.size(); ++index) {
                buffers[index] = static_cast<scalar_type>(counts_[index] / weight);
            }
        }
    }

    Net model_;
    Link link_;
    reducer_type reducer_;
    detail::GradientReduction<scalar_type, reducer_type, Link> reduction_;
    detail::Unused<Net> unused_;
    LossSum sum_{};                ///< of this rank, since the last average
    double rows_ = 0;              ///< the same
    std::size_t parts_rows_ = 0;   ///< rows of all ranks in the parts that were accumulated
    std::size_t rows_of_all_ = 0;  ///< in the last part that ranks brought themselves, if anybody wants to know
    bool accumulating_ = false;    ///< has anything been accumulated since?
    std::uint64_t steps_ = 0;
    detail::ShardedSteps sharded_;
    std::vector<double> counts_;
};

}  // namespace lockstep
