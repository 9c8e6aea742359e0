// SPDX-License-Identifier: MIT
// expect: collectives carry float, double, std::int32_t, std::int64_t and std::uint8_t
#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

void right(Solo& link, std::span<float> values) { all_reduce<Ring>(link, values); }
#ifdef LOCKSTEP_FAIL
void wrong(Solo& link, std::span<std::uint16_t> values) { all_reduce<Ring>(link, values); }
#endif
