// SPDX-License-Identifier: MIT
/// @file
/// Worlds over SharedMemoryTransport, and buffers that every rank of them can reach.
#pragma once

#include <lockstep/transport/shared_memory.hpp>

#include "support/world.hpp"

namespace test {

struct OverSharedMemory
    : OverSockets<lockstep::LocalSockets::unix_domain, lockstep::SystemCalls, lockstep::SharedMemoryTransport> {
    static constexpr const char* name = "shared memory";
};

}  // namespace test
