// SPDX-License-Identifier: MIT
/// @file
/// Worlds over SharedMemoryTransport.
#pragma once

#include <lockstep/transport/shared_memory.hpp>

#include "support/world.hpp"

namespace test {

struct OverSharedMemory
    : OverSockets<lockstep::LocalSockets::unix_domain, lockstep::SystemCalls, lockstep::SharedMemoryTransport> {
    static constexpr const char* name = "shared memory";
};

/// The transports on which trials run every reducer.
using EveryTransport = boost::mpl::list<OverThreads, OverTcp, OverUnix, OverSharedMemory>;

}  // namespace test
