// SPDX-License-Identifier: MIT
/// @file
/// What DataParallel asks of its policies, said in words: all that is missing at once, not just the first.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep::detail {

/// Has any of a topology's members: then it is meant to be one, and the others are missed by name.
template <class Strategy>
inline constexpr bool meant_as_topology =
    CutsIntoChunks<Strategy> || NamesOwners<Strategy> || EmitsReduce<Strategy> || EmitsDistribute<Strategy>;

template <class Net, class Strategy, class Link>
struct DataParallelRequirements {
    static_assert(HasScalarType<Net>, "DataParallel: the model has no floating-point scalar_type");
    static_assert(HasFlatParameters<Net>, "DataParallel: the model has no parameters() that is a span of scalar_type");
    static_assert(HasFlatGradients<Net>, "DataParallel: the model has no gradients() that is a span of scalar_type");
    static_assert(HasManifest<Net>, "DataParallel: the model has no manifest() that names its parameters");

    static_assert(KnowsItsRank<Link>, "DataParallel: the transport has no rank() and world_size() that are int");
    static_assert(NumbersCalls<Link>, "DataParallel: the transport has no begin(request) that returns a Call");
    static_assert(ExchangesBytes<Link>, "DataParallel: the transport has no exchange(call, outgoing, incoming)");
    static_assert(FailsTogether<Link>, "DataParallel: the transport has no fail(failure)");
    static_assert(CountsTraffic<Link>, "DataParallel: the transport has no traffic() that returns a Traffic");

    static_assert(!meant_as_topology<Strategy> || CutsIntoChunks<Strategy>,
                  "DataParallel: the topology has no chunks(world_size)");
    static_assert(!meant_as_topology<Strategy> || NamesOwners<Strategy>,
                  "DataParallel: the topology has no owns(rank, world_size, chunk)");
    static_assert(!meant_as_topology<Strategy> || EmitsReduce<Strategy>,
                  "DataParallel: the topology has no reduce(rank, world_size, emit)");
    static_assert(!meant_as_topology<Strategy> || EmitsDistribute<Strategy>,
                  "DataParallel: the topology has no distribute(rank, world_size, emit)");
    static_assert(!meant_as_topology<Strategy> || Topology<Strategy>, "DataParallel: the topology has no name");
    static_assert(meant_as_topology<Strategy> || ReducesOver<Strategy, Link, float> ||
                      ReducesOver<Strategy, Link, double>,
                  "DataParallel: the reducer is no topology and has no all_reduce(transport, span)");
};

}  // namespace lockstep::detail
