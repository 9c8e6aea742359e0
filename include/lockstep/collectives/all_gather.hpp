// SPDX-License-Identifier: MIT
/// @file
/// all_gather: everybody gets everybody's shard. gather: everybody's one value.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <lockstep/collectives/executor.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/ring.hpp>

namespace lockstep {

/// Every rank brings its shard of `buffer`, elements `shard_of(buffer.size(), rank, world_size)`, and gets those of all
/// others in their places. The way back from `reduce_scatter`.
/// Ring: W - 1 rounds, n(W-1)/W bytes sent by every rank. @throws ShapeError if lengths differ, TransportError and its
/// kinds
template <Topology Shape = Ring, class Scalar, Transport Link>
void all_gather(Link& link, std::span<Scalar> buffer) {
    detail::check_ranks_own_their_shards<Shape>();
    Executor<Shape>& executor = detail::shared_reducer<Shape>();
    const Call call = executor.template begin<Scalar>(link, Operation::all_gather, Reduction::none, buffer.size());
    executor.run_half(link, call, buffer, Half::distribute, nullptr);
}

/// The values of all ranks, by rank, on every rank. ceil(lg W) rounds, up to two messages each; W - 1 values sent.
/// @throws TransportError and its kinds
template <class Scalar, Transport Link>
std::vector<Scalar> gather(Link& link, Scalar value) {
    std::vector<Scalar> values(static_cast<std::size_t>(link.world_size()));
    values[static_cast<std::size_t>(link.rank())] = value;
    all_gather<Circulant>(link, std::span(values));
    return values;
}

}  // namespace lockstep
