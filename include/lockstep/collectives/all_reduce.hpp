// SPDX-License-Identifier: MIT
/// @file
/// all_reduce and its two halves as functions, the topology as a template argument.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <lockstep/collectives/executor.hpp>

namespace lockstep {

/// Every rank's `buffer` becomes the elementwise reduction of all ranks' buffers; the same bits everywhere.
/// `all_reduce<Ring>(transport, std::span(values), Max{})`. Messages and bytes: `counts_of<Shape>`.
/// @throws ShapeError if lengths differ between ranks, TransportError and its kinds if ranks cannot be reached
template <class Strategy, class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    requires Reducer<Strategy, Link, Scalar>
void all_reduce(Link& link, std::span<Scalar> buffer, Operator operation = {}, Action&& owner_acts = {}) {
    detail::shared_reducer<Strategy>().all_reduce(link, buffer, operation, std::forward<Action>(owner_acts));
}

/// The first half: owners hold finished pieces, the rest of the buffer is unspecified. Who owns what is what `Shape::owns`
/// says of each of the buffer's segments (`segments_of<Shape>`). With Naive and Tree this is a reduce to rank 0.
template <Topology Shape, class Scalar, Transport Link, class Operator = Sum>
void reduce(Link& link, std::span<Scalar> buffer, Operator operation = {}) {
    detail::shared_reducer<Shape>().reduce(link, buffer, operation);
}

/// The second half: every rank gets the owners' pieces. With Naive and Tree a broadcast.
template <Topology Shape, class Scalar, Transport Link>
void distribute(Link& link, std::span<Scalar> buffer) {
    detail::shared_reducer<Shape>().distribute(link, buffer);
}

}  // namespace lockstep
