// SPDX-License-Identifier: MIT
/// @file
/// Control messages one after the other, as every rank reads them from the others.
#include <lockstep/transport/sockets/messages.hpp>

#include "fed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lockstep;
    using namespace lockstep::detail;
    fuzz::Fed::rest = {data, size};
    for (;;) {
        const auto message = read_message<fuzz::Fed>(-1, Deadline::after(Seconds{60}));
        if (!message) break;
        fuzz::require(message->kind() != FrameKind::data && message->payload.size() <= max_control_bytes);
        fuzz::require(!failure_in(message, 3).message.empty());
    }
    return 0;
}
