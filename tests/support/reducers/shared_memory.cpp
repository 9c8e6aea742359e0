// SPDX-License-Identifier: MIT
#include "support/reducers/every_reducer.hpp"

#include <lockstep/transport/shared_memory.hpp>

/// Its messages go over the same sockets: one topology is enough to show that they do.
template <>
const std::vector<test::AnyReducer<lockstep::SharedMemoryTransport>>&
test::every_reducer<lockstep::SharedMemoryTransport>() {
    static const auto both = any_of<lockstep::SharedMemoryTransport, lockstep::Fused, lockstep::Ring>();
    return both;
}
