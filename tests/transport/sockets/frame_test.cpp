// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;
using namespace lockstep::detail;

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
    std::vector<std::byte> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
    return bytes;
}

template <class Bytes>
bool same_bytes(const Bytes& bytes, const std::vector<std::byte>& expected) {
    return std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end());
}

const Header example{.kind = FrameKind::data,
                     .request = {.operation = Operation::reduce,
                                 .reduction = Reduction::max,
                                 .type = ElementType::float64,
                                 .root = 0x01020304,
                                 .topology = short_name("tree"),
                                 .elements = 0x1112131415161718U},
                     .sequence = 0x2122232425262728U,
                     .bytes = 0x3132333435363738U};

const std::vector<std::byte> example_bytes = bytes_of({
    'L',  'K',  'S',  'T',  1,    3,    2,    3,     // magic, version, data, reduce, max
    2,    0,    0,    0,    4,    3,    2,    1,     // float64, zeros, root
    't',  'r',  'e',  'e',  0,    0,    0,    0,     // topology
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,  // sequence
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // elements
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,  // bytes
});

HeaderBytes example_header_bytes() {
    HeaderBytes bytes{};
    std::copy(example_bytes.begin(), example_bytes.end(), bytes.begin());
    return bytes;
}

bool same_header(const Header& left, const Header& right) {
    return left.kind == right.kind && left.request == right.request && left.sequence == right.sequence &&
           left.bytes == right.bytes;
}

BOOST_AUTO_TEST_CASE(a_header_is_these_48_bytes) {
    BOOST_TEST(same_bytes(encode(example), example_bytes));
    const auto decoded = decode(example_header_bytes());
    BOOST_REQUIRE(decoded.has_value());
    BOOST_TEST(same_header(*decoded, example));
}

BOOST_AUTO_TEST_CASE(every_header_comes_back_as_it_was) {
    for (const int kind : {1, 2, 3, 4, 5, 6, 7}) {
        for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
            for (const std::int32_t root : {0, -1, (std::numeric_limits<std::int32_t>::min)(), 7}) {
                Header header = example;
                header.kind = static_cast<FrameKind>(kind);
                header.sequence = header.bytes = header.request.elements = number;
                header.request.root = root;
                header.request.topology = short_name("longer than eight");
                const auto decoded = decode(encode(header));
                BOOST_REQUIRE(decoded.has_value());
                BOOST_TEST(same_header(*decoded, header));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_header_with_anything_amiss_is_refused) {
    struct Change {
        std::size_t offset;
        int value;
    };
    for (const Change& change : {Change{0, 'l'}, Change{1, 'X'}, Change{2, 0}, Change{3, 'P'},  // magic
                                 Change{4, 0}, Change{4, 2}, Change{4, 255},                    // version
                                 Change{5, 0}, Change{5, 10}, Change{5, 255},                   // kind
                                 Change{9, 1}, Change{10, 1}, Change{11, 128}}) {               // what must be zero
        HeaderBytes bytes = example_header_bytes();
        bytes[change.offset] = static_cast<std::byte>(change.value);
        BOOST_TEST(!decode(bytes).has_value(), "byte " << change.offset << " is " << change.value);
    }
    BOOST_TEST(!decode(HeaderBytes{}).has_value());
}

BOOST_AUTO_TEST_CASE(other_protocols_are_refused) {
    for (const std::string text : {"GET / HTTP/1.1\r\nHost: 127.0.0.1:29500\r\nUser-Agent: curl\r\n\r\n",
                                   "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3                      \r\n"}) {
        HeaderBytes bytes{};
        std::copy_n(std::as_bytes(std::span(text)).begin(), bytes.size(), bytes.begin());
        BOOST_TEST(!decode(bytes).has_value());
    }
}

BOOST_AUTO_TEST_CASE(what_a_header_says_of_its_call_is_kept_even_if_unknown) {
    // A peer of another mind is a disagreement, to be named: not a stranger.
    HeaderBytes bytes = example_header_bytes();
    bytes[6] = std::byte{77};
    bytes[7] = std::byte{78};
    bytes[8] = std::byte{79};
    bytes[16] = std::byte{7};  // a letter that would ring the terminal's bell
    const auto decoded = decode(bytes);
    BOOST_REQUIRE(decoded.has_value());
    BOOST_TEST(to_string(5, decoded->request) ==
               "unknown operation #5 (unknown reduction of 1230066625199609624 unknown element type, "
               "1230066625199609624 bytes, ?ree, root 16909060)");
}

/// A control frame: its header, for which only the kind and the length matter, and its payload.
std::vector<std::byte> control_bytes(int kind, std::initializer_list<int> payload) {
    std::vector<std::byte> bytes = bytes_of({'L', 'K', 'S', 'T', 1, kind, 0, 0, 0, 0, 0, 0});
    bytes.resize(40);
    const auto length = bytes_of({static_cast<int>(payload.size()), 0, 0, 0, 0, 0, 0, 0});
    bytes.insert(bytes.end(), length.begin(), length.end());
    const auto rest = bytes_of(payload);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
}

BOOST_AUTO_TEST_CASE(control_frames_are_these_bytes) {
    BOOST_TEST(same_bytes(control_frame(FrameKind::goodbye, {}), control_bytes(5, {})));
    BOOST_TEST(same_bytes(control_frame(FrameKind::welcome, bytes_of({1, 2, 255})), control_bytes(2, {1, 2, 255})));
    const Hello hello{
        .rank = 3, .world_size = 0x0104, .role = Role::data, .job = 0x0102030405060708U, .address = "a:1"};
    BOOST_TEST(same_bytes(encode(hello),
                          control_bytes(1, {3, 0, 0, 0, 4, 1, 0, 0, 2, 8, 7, 6, 5, 4, 3, 2, 1, 'a', ':', '1'})));
    const Failure failure{ErrorKind::timeout, -1, "no"};
    BOOST_TEST(same_bytes(encode(failure), control_bytes(4, {3, 255, 255, 255, 255, 'n', 'o'})));
}

BOOST_AUTO_TEST_CASE(a_hello_comes_back_as_it_was) {
    for (const int rank : {0, 7, -1, (std::numeric_limits<int>::min)()}) {
        for (const std::string address : {"", "unix:/tmp/socket", "[::1]:29500"}) {
            const auto frame = encode(Hello{rank, 8, Role::control, ~std::uint64_t{0}, address});
            const auto decoded = decode_hello(std::span(frame).subspan(header_bytes));
            BOOST_REQUIRE(decoded.has_value());
            BOOST_TEST(decoded->rank == rank);
            BOOST_TEST(decoded->world_size == 8);
            BOOST_TEST((decoded->role == Role::control));
            BOOST_TEST(decoded->job == ~std::uint64_t{0});
            BOOST_TEST(decoded->address == address);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_hello_that_is_short_or_has_no_role_is_refused) {
    std::vector<std::byte> payload(17);
    payload[8] = std::byte{1};
    BOOST_TEST(decode_hello(payload).has_value());
    for (std::size_t size = 0; size < 17; ++size) BOOST_TEST(!decode_hello(std::span(payload).first(size)).has_value());
    for (const int role : {0, 3, 255}) {
        payload[8] = static_cast<std::byte>(role);
        BOOST_TEST(!decode_hello(payload).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_failure_comes_back_as_it_was) {
    for (int kind = 0; kind <= 6; ++kind) {
        const auto frame = encode(Failure{static_cast<ErrorKind>(kind), kind - 1, "what went wrong"});
        const auto decoded = decode_failure(std::span(frame).subspan(header_bytes));
        BOOST_REQUIRE(decoded.has_value());
        BOOST_TEST(static_cast<int>(decoded->kind) == kind);
        BOOST_TEST(decoded->rank == kind - 1);
        BOOST_TEST(decoded->message == "what went wrong");
    }
}

BOOST_AUTO_TEST_CASE(a_failure_of_no_kind_is_refused_and_a_long_one_cut) {
    const auto payload = bytes_of({6, 0, 0, 0, 0});
    BOOST_TEST(decode_failure(payload).has_value());
    for (std::size_t size = 0; size < 5; ++size)
        BOOST_TEST(!decode_failure(std::span(payload).first(size)).has_value());
    BOOST_TEST(!decode_failure(bytes_of({7, 0, 0, 0, 0})).has_value());
    // So long that peers would take the message for a stranger's.
    const auto frame = encode(Failure{ErrorKind::remote, 0, std::string(max_control_bytes + 1, 'x')});
    BOOST_TEST(frame.size() == header_bytes + 5 + 4096);
}

}  // namespace
