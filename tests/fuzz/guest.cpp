// SPDX-License-Identifier: MIT
/// @file
/// Whoever connects: says anything in pieces of any size. Without a secret only a hello of the job is let in, with one
/// nobody is: the fuzzer cannot prove that it knows it.
#include <lockstep/transport/sockets/messages.hpp>

#include "fed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lockstep;
    using namespace lockstep::detail;
    for (const char* const secret : {"", "open sesame"}) {
        fuzz::Fed::rest = {data, size};
        Guest guest(Descriptor(), Deadline::after(Seconds{60}));
        const auto state = guest.read<fuzz::Fed>(77, secret);
        fuzz::require(state != Guest::State::waiting);  // Since nothing more comes.
        if (state == Guest::State::ready) fuzz::require(*secret == 0 && guest.hello().job == 77);
    }
    return 0;
}
