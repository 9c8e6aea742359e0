// SPDX-License-Identifier: MIT
/// @file
/// All reducers of the library. A new one gets a place in this list, and with it the laws and trials of all others.
#pragma once

#include <vector>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/any_reducer.hpp"

namespace test {

template <class Link, class... Strategies>
std::vector<AnyReducer<Link>> any_of() {
    return {AnyReducer<Link>::template of<Strategies>()...};
}

template <class Link>
const std::vector<AnyReducer<Link>>& every_reducer() {
    using namespace lockstep;
    static const std::vector<AnyReducer<Link>> all = [] {
        auto reducers = any_of<Link, Naive, Tree, Ring, RecursiveDoubling, HalvingDoubling, Direct, Circulant,
                               DoubleTree, Pipelined<Tree>, Hierarchical<Ring, Ring, 2>>();
        if constexpr (SharedAddressSpace<Link>) reducers.push_back(AnyReducer<Link>::template of<Fused>());
        return reducers;
    }();
    return all;
}

}  // namespace test
