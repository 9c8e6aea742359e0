// SPDX-License-Identifier: MIT
/// @file
/// A rank's data and control connections: rank 0 sums 100 numbers with a rank 1 that knows how to meet, and then says
/// anything. Rank 0 must end, at once and with an error of the library; it may be right only if rank 1 was.
#include <array>
#include <cstdlib>
#include <string>
#include <thread>

#include <stdlib.h>
#include <unistd.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/transport/sockets.hpp>

#include "fed.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

/// Meets rank 0, says `control` and `data` on its connections, and hangs up.
void rank_1(const std::string& address, std::span<const std::byte> control, std::span<const std::byte> data) {
    const Deadline deadline = Deadline::after(Seconds{20});
    const Descriptor to_control = connect_to(address, 0, deadline);
    write_all<SystemCalls>(to_control.get(), encode(Hello{1, 2, Role::control, 0, address + ".1"}), deadline);
    const auto message = read_message<SystemCalls>(to_control.get(), deadline);
    const auto welcome = message ? decode_welcome(message->payload) : std::nullopt;
    fuzz::require(welcome.has_value());
    const Descriptor to_data = connect_to(address, 0, deadline);
    write_all<SystemCalls>(to_data.get(), encode(Hello{1, 2, Role::data, welcome->session, ""}), deadline);
    read_message<SystemCalls>(to_data.get(), deadline);
    write_all<SystemCalls>(to_control.get(), control, deadline);
    write_all<SystemCalls>(to_data.get(), data, deadline);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string address = [] {
        static std::string folder = "/tmp/lockstep-fuzz-XXXXXX";
        fuzz::require(::mkdtemp(folder.data()) != nullptr);
        std::atexit([] { ::rmdir(folder.c_str()); });
        return "unix:" + folder + "/socket";
    }();
    // The first byte says how much of the rest is for control.
    const auto bytes = fuzz::as_bytes(data, size);
    const std::size_t rest = size > 0 ? size - 1 : 0;
    const std::size_t share = size > 0 ? std::to_integer<std::size_t>(bytes[0]) * rest / 255 : 0;
    std::thread peer(
        [&] { rank_1(address, bytes.subspan(size > 0 ? 1 : 0, share), bytes.subspan((size > 0 ? 1 : 0) + share)); });
    try {
        Sockets link({.world_size = 2, .address = address, .timeout = Seconds{20}});
        std::array<float, 100> values{};
        all_reduce<Naive>(link, std::span<float>(values));
    } catch (const Error&) {
        // Named and typed: well.
    }
    peer.join();
    return 0;
}
