// SPDX-License-Identifier: MIT
/// @file
/// Headers and payloads by themselves: what is understood is written again as it was.
#include <algorithm>

#include <lockstep/transport/sockets/address.hpp>
#include <lockstep/transport/sockets/frame.hpp>

#include "fed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lockstep::detail;
    const auto bytes = fuzz::as_bytes(data, size);
    if (size >= header_bytes) {
        HeaderBytes header;
        std::copy_n(bytes.begin(), header.size(), header.begin());
        if (const auto known = decode(header)) {
            fuzz::require(encode(*known) == header);
            to_string(known->sequence, known->request);
        }
    }
    const auto written_again = [&](const std::vector<std::byte>& frame) {
        return std::equal(frame.begin() + header_bytes, frame.end(), bytes.begin(), bytes.end());
    };
    if (const auto hello = decode_hello(bytes)) {
        fuzz::require(written_again(encode(*hello)));
        if (const auto address = numeric(hello->address)) fuzz::require(!to_text(*address).empty());
    }
    if (const auto failure = decode_failure(bytes)) {
        fuzz::require(failure->message.size() > 4096 || written_again(encode(*failure)));
    }
    if (const auto welcome = decode_welcome(bytes)) {
        // The last line feed may be missing.
        const bool whole = bytes.size() == 8 || bytes.back() == std::byte{'\n'};
        fuzz::require(!whole || written_again(encode(*welcome)));
    }
    return 0;
}
