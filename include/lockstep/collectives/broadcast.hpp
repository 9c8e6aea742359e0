// SPDX-License-Identifier: MIT
/// @file
/// One rank to all, and all to one rank: the halves of the binomial tree, turned so that any rank can be the root.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <lockstep/collectives/executor.hpp>
#include <lockstep/topology/tree.hpp>

namespace lockstep {

namespace detail {

/// Is rank 0 the one owner of everything, for this world size?
template <Topology Shape>
constexpr bool is_rooted(int world_size) {
    return owners_are<Shape>(world_size, [](int) { return 0; });
}

template <Topology Shape, class Link>
void check_root(const Link& link, int root) {
    static_assert(is_rooted<Shape>(3), "a root needs a topology in which rank 0 owns everything, as Naive and Tree");
    if (root < 0 || root >= link.world_size()) {
        throw ConfigurationError("root " + std::to_string(root) + " is outside a world of size " +
                                 std::to_string(link.world_size()));
    }
}

}  // namespace detail

/// Every rank's `buffer` becomes a copy of `root`'s. Tree: ceil(lg W) rounds, n bytes received by every other rank.
/// @throws ConfigurationError for a bad root; ShapeError if lengths differ; TransportError and its kinds
template <Topology Shape = Tree, class Scalar, Transport Link>
void broadcast(Link& link, std::span<Scalar> buffer, int root = 0) {
    detail::check_root<Shape>(link, root);
    Executor<Shape>& executor = detail::shared_reducer<Shape>();
    const Call call = executor.template begin<Scalar>(link, Operation::broadcast, Reduction::none, buffer.size(), root);
    executor.run_half(link, call, buffer, Half::distribute, nullptr, root);
}

/// `root`'s buffer becomes the reduction of all ranks' buffers; the other buffers are unspecified afterwards.
/// Order of addition: that of the topology, starting from `root`. Errors as for `broadcast`.
template <Topology Shape = Tree, class Scalar, Transport Link, class Operator = Sum>
void reduce_to(Link& link, std::span<Scalar> buffer, int root, Operator = {}) {
    detail::check_root<Shape>(link, root);
    Executor<Shape>& executor = detail::shared_reducer<Shape>();
    const Call call = executor.template begin<Scalar>(link, Operation::reduce, Operator::kind, buffer.size(), root);
    executor.run_half(link, call, buffer, Half::reduce, combine_of<Operator, Scalar>(), root);
}

}  // namespace lockstep
