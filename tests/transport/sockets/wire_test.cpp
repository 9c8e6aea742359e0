// SPDX-License-Identifier: MIT
/// @file
/// docs/wire.md is true: its vectors are what the library says, and a rank written from it in another language joins.
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include <boost/test/unit_test.hpp>

#include "support/world.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte each : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<std::size_t>(each >> 4)];
        text += digits[std::to_integer<std::size_t>(each & std::byte{15})];
    }
    return text;
}

/// The blocks named vector, without spaces.
std::map<std::string, std::string> vectors() {
    std::ifstream page(LOCKSTEP_DOCS "/wire.md");
    std::map<std::string, std::string> found;
    std::string name;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("```vector ")) name = line.substr(10);
        else if (line.starts_with("```")) name.clear();
        else if (!name.empty()) {
            for (const char letter : line) {
                if (letter != ' ') found[name] += letter;
            }
        }
    }
    return found;
}

BOOST_AUTO_TEST_CASE(the_vectors_are_what_is_said) {
    const auto page = vectors();
    BOOST_REQUIRE(page.size() == 7U);
    const auto check = [&](const std::string& name, std::span<const std::byte> bytes) {
        BOOST_REQUIRE_MESSAGE(page.contains(name), name);
        BOOST_TEST(page.at(name) == hexadecimal(bytes), name << ": " << hexadecimal(bytes));
    };
    const auto hello = encode(Hello{1, 2, Role::control, 77, "127.0.0.1:4711"});
    check("hello", hello);
    const std::array<float, 2> values{1, 2};
    check("data", control_frame(Header{.kind = FrameKind::data,
                                       .request = {.operation = Operation::all_reduce,
                                                   .reduction = Reduction::sum,
                                                   .type = ElementType::float32,
                                                   .topology = short_name("ring"),
                                                   .elements = 3},
                                       .sequence = 118},
                                std::as_bytes(std::span(values))));
    check("welcome", encode(Welcome{0x0123456789abcdef, {"127.0.0.1:29500", "127.0.0.1:4711"}}));
    check("failure", encode(Failure{ErrorKind::timeout, 2, "rank 2 is late"}));
    const Request barrier{.operation = Operation::barrier, .topology = short_name("tree")};
    std::vector<std::byte> rank;
    append(rank, 3, 4);
    check("waiting", control_frame(Header{.kind = FrameKind::waiting, .request = barrier, .sequence = 5}, rank));
    Challenge callers{};
    Challenge listeners{};
    for (std::size_t index = 0; index < callers.size(); ++index) {
        callers[index] = static_cast<std::byte>(index);
        listeners[index] = static_cast<std::byte>(index + 16);
    }
    const auto introduction = std::span(hello).subspan(header_bytes);
    check("proof of the listener", proof_of("open sesame", Speaker::listener, introduction, callers, listeners));
    check("proof of the caller", proof_of("open sesame", Speaker::caller, introduction, callers, listeners));
}

BOOST_AUTO_TEST_CASE(what_is_said_is_understood) {
    const auto welcome = encode(Welcome{0x0123456789abcdef, {"127.0.0.1:29500", "127.0.0.1:4711"}});
    const auto understood = decode_welcome(std::span(welcome).subspan(header_bytes));
    BOOST_REQUIRE(understood.has_value());
    BOOST_TEST(understood->session == 0x0123456789abcdefU);
    BOOST_TEST((understood->addresses == std::vector<std::string>{"127.0.0.1:29500", "127.0.0.1:4711"}));
    BOOST_TEST(!decode_welcome(std::span(welcome).subspan(header_bytes, 7)).has_value());
}

BOOST_AUTO_TEST_CASE(a_rank_in_another_language_joins) {
    if (std::system("python3 -c '' 2>/dev/null") != 0) {
        BOOST_TEST_MESSAGE("no python3 here");
        return;
    }
    LocalMeeting meeting(2, LocalSockets::tcp);
    SocketsOptions options = meeting.options(0);
    options.job = 77;
    options.secret = "open sesame";
    options.timeout = Seconds{20};
    const std::string port = options.address.substr(options.address.rfind(':') + 1);
    const std::string command = "python3 " LOCKSTEP_WIRE_PEER " 127.0.0.1 " + port + " 'open sesame'";
    std::FILE* const peer = ::popen(command.c_str(), "r");
    BOOST_REQUIRE(peer != nullptr);
    std::array<float, 4> values{1, 2, 3, 4};
    const auto outcome = test::outcome_of([&] {
        Sockets link(options);
        all_reduce<Naive>(link, std::span<float>(values));
    });
    std::array<char, 200> line{};
    const bool spoke = std::fgets(line.data(), line.size(), peer) != nullptr;
    BOOST_TEST(::pclose(peer) == 0);
    BOOST_TEST(!outcome.threw, outcome.message);
    BOOST_TEST(spoke);
    BOOST_TEST((values == std::array<float, 4>{11, 22, 33, 44}));
    BOOST_TEST(std::string(line.data()) == "11.0 22.0 33.0 44.0\n");
}

}  // namespace
