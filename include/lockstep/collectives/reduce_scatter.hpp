// SPDX-License-Identifier: MIT
/// @file
/// reduce_scatter: each rank gets its shard of the reduction.
#pragma once

#include <span>

#include <lockstep/collectives/executor.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/topology/ring.hpp>

namespace lockstep {

/// This rank's part of a buffer: elements `shard_of(buffer.size(), rank, world_size)`.
template <class Scalar, Transport Link>
std::span<Scalar> own_shard(const Link& link, std::span<Scalar> buffer) {
    const Shard own = shard_of(buffer.size(), link.rank(), link.world_size());
    return buffer.subspan(own.begin, own.size);
}

/// This rank's shard of `buffer` becomes that of the elementwise reduction of all ranks' buffers, and is returned; the
/// rest of the buffer is unspecified afterwards. Shards differ by at most one element, and may be empty.
/// Ring: W - 1 rounds, n(W-1)/W bytes sent by every rank. Direct adds in rank order, Circulant takes ceil(lg W) rounds.
/// Order of addition: that of the topology. @throws ShapeError if lengths differ, TransportError and its kinds
template <Topology Shape = Ring, class Scalar, Transport Link, class Operator = Sum>
std::span<Scalar> reduce_scatter(Link& link, std::span<Scalar> buffer, Operator = {}) {
    detail::check_ranks_own_their_shards<Shape>();
    Executor<Shape>& executor = detail::shared_reducer<Shape>();
    const Call call = executor.template begin<Scalar>(link, Operation::reduce_scatter, Operator::kind, buffer.size());
    executor.run_half(link, call, buffer, Half::reduce, combine_of<Operator, Scalar>());
    return own_shard(link, buffer);
}

}  // namespace lockstep
