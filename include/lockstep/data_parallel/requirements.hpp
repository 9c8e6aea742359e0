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

/// Called for its static_asserts. They stand in a function, because some compilers end a class at its first error.
template <class Net, class Strategy, class Link>
consteval bool check_requirements() {
    static_assert(HasScalarType<Net>, "DataParallel: the model has no floating-point scalar_type");
    static_assert(HasFlatParameters<Net>, "DataParallel: the model has no parameters() that is a span of scalar_type");
    static_assert(HasFlatGradients<Net>, "DataParallel: the model has no gradients() that is a span of scalar_type");
    static_assert(HasManifest<Net>, "DataParallel: the model has no manifest() that names its parameters");

    static_assert(KnowsItsRank<Link>, "DataParallel: the transport has no rank() and world_size() that are int");
    static_assert(NumbersCalls<Link>, "DataParallel: the transport has no begin(request) that returns a Call");
    static_assert(ExchangesBytes<Link>, "DataParallel: the transport has no exchange(call, outgoing, incoming)");
    static_assert(FailsTogether<Link>, "DataParallel: the transport has no fail(failure)");
    static_assert(CountsTraffic<Link>, "DataParallel: the transport has no traffic() that returns a Traffic");

    if constexpr (meant_as_topology<Strategy>) {
        static_assert(HasName<Strategy>, "DataParallel: the topology has no name");
        static_assert(CutsIntoChunks<Strategy>, "DataParallel: the topology has no chunks(world_size)");
        static_assert(NamesOwners<Strategy>, "DataParallel: the topology has no owns(rank, world_size, chunk)");
        static_assert(EmitsReduce<Strategy>, "DataParallel: the topology has no reduce(rank, world_size, emit)");
        static_assert(EmitsDistribute<Strategy>,
                      "DataParallel: the topology has no distribute(rank, world_size, emit)");
    } else {
        static_assert(ReducesOver<Strategy, Link, double>,
                      "DataParallel: the reducer is no topology and has no all_reduce(transport, span)");
    }
    return true;
}

/// The base of DataParallel, so that the checks come before anything else of it can fail.
template <class Net, class Strategy, class Link>
struct DataParallelRequirements {
    static_assert(check_requirements<Net, Strategy, Link>());
};

}  // namespace lockstep::detail
