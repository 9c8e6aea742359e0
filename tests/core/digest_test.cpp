// SPDX-License-Identifier: MIT
#include <lockstep/core/digest.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace {

std::uint64_t digest_of(std::string_view text) {
    return lockstep::digest(std::as_bytes(std::span(text.data(), text.size())));
}

BOOST_AUTO_TEST_CASE(digests_are_the_published_ones) {
    // The 64-bit FNV-1a test vectors of its authors (test_fnv.c).
    BOOST_TEST(digest_of("") == 0xcbf29ce484222325U);
    BOOST_TEST(digest_of("a") == 0xaf63dc4c8601ec8cU);
    BOOST_TEST(digest_of("b") == 0xaf63df4c8601f1a5U);
    BOOST_TEST(digest_of("fo") == 0x08985907b541d342U);
    BOOST_TEST(digest_of("foo") == 0xdcb27518fed9d577U);
    BOOST_TEST(digest_of("foob") == 0xdd120e790c2512afU);
    BOOST_TEST(digest_of("fooba") == 0xcac165afa2fef40aU);
    BOOST_TEST(digest_of("foobar") == 0x85944171f73967e8U);
}

BOOST_AUTO_TEST_CASE(hexadecimal_digits_are_of_the_bytes) {
    constexpr std::array letters{'f', 'o', 'o', 'b', 'a', 'r'};
    BOOST_TEST(lockstep::hex_digest(std::span<const char>(letters)) == "85944171f73967e8");
    // Leading zeros are kept.
    BOOST_TEST(lockstep::hex_digest(std::span<const char>(letters).first(2)) == "08985907b541d342");
    BOOST_TEST(lockstep::hex_digest(std::span<const double>()) == "cbf29ce484222325");
}

BOOST_AUTO_TEST_CASE(bits_are_compared_not_values) {
    constexpr std::array plus{1.0F, 0.0F};
    constexpr std::array minus{1.0F, -0.0F};
    BOOST_TEST(lockstep::hex_digest(std::span<const float>(plus)) !=
               lockstep::hex_digest(std::span<const float>(minus)));
}

}  // namespace
