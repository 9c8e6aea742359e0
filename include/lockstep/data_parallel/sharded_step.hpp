// SPDX-License-Identifier: MIT
/// @file
/// A step in which every rank has the optimizer's state of its own pieces only: reduce, step at the owner, distribute.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/collectives/all_gather.hpp>
#include <lockstep/collectives/owner_action.hpp>
#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/optim/groups.hpp>
#include <lockstep/optim/options.hpp>

namespace lockstep {

struct ShardedStepOptions {
    /// The largest Euclidean norm of the averaged gradient; a longer one is scaled to it, as `clip_gradient_norm` does.
    /// Not 0: one more all-reduce, of one number, between the halves of that of the gradients.
    double clip_norm = 0;
};

/// A reducer that can leave a step to owners: all topologies, Fused and Auto.
template <class Reducer, class Link, class Scalar>
concept ReducesToOwners = requires(Reducer reducer, Link& link, std::span<Scalar> buffer) {
    reducer.all_reduce_into(link, buffer, buffer);
    reducer.reduce(link, buffer);
    reducer.distribute(link, buffer);
    { reducer.owned(link, buffer) } -> std::same_as<std::vector<Shard>>;
    { reducer.led(link, buffer) } -> std::same_as<std::vector<Shard>>;
};

namespace detail {

/// The action of a piece's owner: averages its gradients, steps its parameters, and leaves these for everybody.
template <class Scalar, class Optimizer>
struct StepPiece {
    Optimizer& optimizer;
    std::span<Scalar> parameters;
    DivideBy<Scalar> average;

    void operator()(std::span<Scalar> piece, std::size_t first) const {
        average(piece, first);
        const std::span<Scalar> own = parameters.subspan(first, piece.size());
        optimizer.step_piece(own, piece, first);
        std::copy(own.begin(), own.end(), piece.begin());
    }
};

/// @throws ConfigurationError on every rank, naming the first that differs from rank 0
template <class Optimizer, class Link>
void agree_on_settings(const Optimizer& optimizer, Link& link) {
    const auto all = gather(link, static_cast<std::int64_t>(optimizer.settings()));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank] == all[0]) continue;
        throw ConfigurationError(std::string(Optimizer::name) + " has other options, groups or steps on rank " +
                                     std::to_string(rank) + " than on rank 0",
                                 static_cast<int>(rank));
    }
}

/// State of a step before is not to be taken for zero. Without a state at all it is: that of the first step.
template <class Optimizer>
void check_has_state(const Optimizer& optimizer, std::span<const Shard> owned) {
    if (optimizer.state().empty()) return;
    for (const Shard& piece : owned) {
        if (optimizer.pieces().offset_of(piece) != Pieces::none) continue;
        throw ConfigurationError(std::string(Optimizer::name) +
                                 " has the state of another rank's or another reducer's pieces: hand over that of "
                                 "with_whole_state");
    }
}

/// Scales what this rank owns of the gradients; the norm is that of all.
template <class Scalar, class Reducer, class Link>
void clip_owned(Link& link, Reducer& reducer, std::span<Scalar> gradients, std::span<const Shard> owned, double limit) {
    std::array<double, 1> squares{};
    for (const Shard& piece : reducer.led(link, gradients)) {
        for (const Scalar gradient : gradients.subspan(piece.begin, piece.size)) {
            squares[0] += static_cast<double>(gradient) * static_cast<double>(gradient);
        }
    }
    reducer.all_reduce(link, std::span<double>(squares));
    const double norm = std::sqrt(squares[0]);
    const double factor = limit / (norm + 1e-6);
    if (factor >= 1 || !std::isfinite(norm)) return;
    for (const Shard& piece : owned) {
        kernels::scale(static_cast<Scalar>(factor), gradients.subspan(piece.begin, piece.size));
    }
}

/// What sharded steps of one replica remember.
struct ShardedSteps {
    std::vector<Shard> owned{};  ///< by this rank: the same in all steps
    Pieces pieces{};             ///< the same as optimizers have it
    std::int64_t agreed = -1;    ///< steps of the optimizer that was moved last; -1 before the first
};

/// Gradients are sums over rows: their total weight is `divisor`. Ranks agree on the settings of an optimizer unless it
/// comes from the step before.
template <class Net, class Reducer, class Link, class Optimizer, class Scalar = typename Net::scalar_type>
void sharded_step(Link& link, Reducer& reducer, Net& model, Optimizer& optimizer, Scalar divisor,
                  std::span<const Shard> skipped, const ShardedStepOptions& options, ShardedSteps& known) {
    static_assert(ReducesToOwners<Reducer, Link, Scalar>,
                  "DataParallel: this reducer has no all_reduce_into, reduce, distribute, owned and led");
    check_not_negative("DataParallel", "clip_norm", options.clip_norm);
    const std::span<Scalar> gradients = model.gradients();
    const std::span<Scalar> parameters = model.parameters();
    if (known.agreed < 0) {
        known.owned = reducer.owned(link, gradients);
        known.pieces = Pieces(known.owned, gradients.size());
    }
    const std::span<const Shard> owned = known.owned;
    // All ranks ask, or none: a rank may happen to have the state of its pieces already.
    if (optimizer.steps() != known.agreed) agree_on_settings(optimizer, link);
    if (!optimizer.reserved() || optimizer.pieces() != known.pieces) {
        // The first step, or that after a checkpoint was loaded: of what is there the own pieces stay.
        check_has_state(optimizer, owned);
        static_cast<typename Optimizer::base_type&>(optimizer) = optimizer.with_pieces(gradients.size(), owned);
    }
    optimizer.begin_step(skipped);
    known.agreed = optimizer.steps();
    const DivideBy<Scalar> average{divisor};
    if (options.clip_norm == 0) {
        const StepPiece<Scalar, Optimizer> step{optimizer, parameters, average};
        return reducer.all_reduce_into(link, gradients, parameters, Sum{}, step);
    }
    reducer.reduce(link, gradients, Sum{}, average);
    clip_owned(link, reducer, gradients, owned, options.clip_norm);
    for (const Shard& piece : owned) {
        optimizer.step_piece(parameters.subspan(piece.begin, piece.size), gradients.subspan(piece.begin, piece.size),
                             piece.begin);
    }
    reducer.distribute(link, parameters);
}

/// A copy of the optimizer with everybody's state. Cost: the second half of an all-reduce of each slot.
template <class Net, class Reducer, class Link, class Optimizer>
Optimizer gather_state(Link& link, Reducer& reducer, Net& model, const Optimizer& optimizer) {
    using Scalar = typename Net::scalar_type;
    const Shard all{0, std::span<Scalar>(model.parameters()).size()};
    Optimizer whole(optimizer);
    static_cast<typename Optimizer::base_type&>(whole) = optimizer.with_pieces(all.size, std::span(&all, 1));
    for (std::size_t slot = 0; slot < whole.slots().size(); ++slot) {
        reducer.distribute(link, whole.state().subspan(slot * all.size, all.size));
    }
    return whole;
}

}  // namespace detail

}  // namespace lockstep
