// SPDX-License-Identifier: MIT
// expect: shards need a topology in which every rank owns its own, as Ring, Direct and Circulant
#include <lockstep/collectives/reduce_scatter.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

void right(Solo& link, std::span<float> values) { reduce_scatter<Ring>(link, values); }
#ifdef LOCKSTEP_FAIL
void wrong(Solo& link, std::span<float> values) { reduce_scatter<Tree>(link, values); }
#endif
