// SPDX-License-Identifier: MIT
#include <lockstep/core/sha256.hpp>

#include <cstddef>
#include <span>
#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string hex(std::span<const std::byte> digest) {
    std::string text;
    for (const std::byte each : digest) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(each) / 16];
        text += "0123456789abcdef"[std::to_integer<unsigned>(each) % 16];
    }
    return text;
}

std::string sha256(const std::string& text) {
    Sha256 hash;
    hash.update(bytes_of(text));
    return hex(hash.digest());
}

// NIST, FIPS 180-4 examples and the byte-oriented test vectors of the Cryptographic Algorithm Validation Program.
BOOST_AUTO_TEST_CASE(vectors_of_nist) {
    BOOST_TEST(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    BOOST_TEST(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    BOOST_TEST(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                      "mnopqrstnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    BOOST_TEST(sha256(std::string(1'000'000, 'a')) ==
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    BOOST_TEST(sha256(std::string("\xd3", 1)) == "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
}

BOOST_AUTO_TEST_CASE(pieces_make_the_whole) {
    const std::string text(200, 'x');
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        Sha256 hash;
        hash.update(bytes_of(text).first(cut));
        hash.update(bytes_of(text).subspan(cut));
        BOOST_TEST(hex(hash.digest()) == sha256(text));
    }
}

// RFC 4231, test cases 1 to 4, 6 and 7.
BOOST_AUTO_TEST_CASE(vectors_of_rfc_4231) {
    const auto hmac = [](const std::string& key, const std::string& text) {
        return hex(hmac_sha256(bytes_of(key),
                               {bytes_of(text).first(text.size() / 2), bytes_of(text).subspan(text.size() / 2)}));
    };
    BOOST_TEST(hmac(std::string(20, '\x0b'), "Hi There") ==
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    BOOST_TEST(hmac("Jefe", "what do ya want for nothing?") ==
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    BOOST_TEST(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    std::string counted;
    for (char letter = 1; letter <= 25; ++letter) counted += letter;
    BOOST_TEST(hmac(counted, std::string(50, '\xcd')) ==
               "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    BOOST_TEST(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    BOOST_TEST(
        hmac(std::string(131, '\xaa'),
             "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
             "to be hashed before being used by the HMAC algorithm.") ==
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

BOOST_AUTO_TEST_CASE(digests_differ_in_any_byte) {
    Sha256Digest left{};
    Sha256Digest right{};
    BOOST_TEST(same_digest(left, right));
    for (std::byte& each : right) {
        each = std::byte{1};
        BOOST_TEST(!same_digest(left, right));
        each = std::byte{0};
    }
    BOOST_TEST(!same_digest(left, std::span(right).first(31)));
}

}  // namespace
