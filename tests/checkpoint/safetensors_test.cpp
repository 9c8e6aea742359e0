// SPDX-License-Identifier: MIT
/// @file
/// Also B30: offsets are compared with shape, type and file before anything is believed.
#include <lockstep/checkpoint/safetensors.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"
#include "support/temporary_file.hpp"

namespace {

using namespace lockstep;

std::string with_length(std::uint64_t length, const std::string& rest) {
    std::string bytes;
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(length >> shift);
    return bytes + rest;
}
std::string file_of(const std::string& header, const std::string& data = "") {
    return with_length(header.size(), header + data);
}
Safetensors read(const std::string& bytes) {
    const test::TemporaryFile file(bytes);
    return Safetensors::read(file.path());
}
void refuses(const std::string& bytes, std::vector<std::string> parts) {
    parts.push_back("/tmp/lockstep-test-");
    test::check_error(test::outcome_of([&] { read(bytes); }), ErrorKind::format, parts);
}
std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets +
           "]}";
}

BOOST_AUTO_TEST_CASE(a_file_is_read_as_written) {
    const test::TemporaryFile place("");
    const std::vector<float> weights{1.5F, -0.0F, std::numeric_limits<float>::denorm_min(), 4, 5, 6};
    const std::vector<double> one{0.1};
    const std::vector<std::int64_t> none;
    Safetensors file;
    file.add("0.weight", {2, 3}, std::span<const float>(weights));
    file.add("a \"number\"\n", {}, std::span<const double>(one));
    file.add("empty", {0, 7}, std::span<const std::int64_t>(none));
    file.set("by", "h\xC3\xA9");
    file.write(place.path());

    const Safetensors again = Safetensors::read(place.path());
    BOOST_REQUIRE(again.tensors().size() == 3U);
    BOOST_TEST(again.metadata().at("by") == "h\xC3\xA9");
    std::vector<float> read_weights(6);
    again.copy("0.weight", {2, 3}, std::span(read_weights));
    BOOST_TEST(hex_digest(std::span<const float>(read_weights)) == hex_digest(std::span<const float>(weights)));
    double number = 0;
    again.copy("a \"number\"\n", {}, std::span(&number, 1));
    BOOST_TEST(number == 0.1);
    again.copy("empty", {0, 7}, std::span<std::int64_t>());
    BOOST_TEST(again.digest() == file.digest());
    BOOST_TEST(again.find("nothing") == nullptr);
    // Numbers may be mapped where they lie.
    BOOST_TEST((read_file(place.path()).size() - 32) % 8 == 0U);
}

BOOST_AUTO_TEST_CASE(a_file_of_the_reference_implementation_is_read) {
    // Byte for byte what its documentation describes, with spaces after the header, which it also writes.
    const auto file =
        read(file_of("{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":"
                     "[4,8]},\"a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}   ",
                     std::string("\0\0\x80\x3f\x07\0\0\0", 8)));
    float real = 0;
    std::int32_t whole = 0;
    file.copy("a", {1, 1}, std::span(&real, 1));
    file.copy("b", {1}, std::span(&whole, 1));
    BOOST_TEST(real == 1);
    BOOST_TEST(whole == 7);
    BOOST_TEST(file.tensors()[0].name == "a");
    BOOST_TEST(read(file_of("{}")).tensors().empty());
}

BOOST_AUTO_TEST_CASE(offsets_are_compared_with_shape_type_and_file) {
    const std::string four(4, 'x');
    refuses(file_of("{" + tensor("t", "F32", "1000,1000", "0,4") + "}", four),
            {"\"t\"", "(1000, 1000)", "4000000", "0 to 4"});
    refuses(file_of("{" + tensor("t", "F32", "1", "4,0") + "}", four), {"\"t\"", "4 to 0", "wrong way"});
    refuses(file_of("{" + tensor("t", "F32", "2", "0,8") + "}", four), {"\"t\"", "0 to 8", "4 follow"});
    refuses(file_of("{" + tensor("t", "F99", "1", "0,4") + "}", four), {"\"t\"", "unknown type \"F99\""});
    refuses(file_of("{" + tensor("t", "F32", "4294967296,4294967296,4", "0,4") + "}", four),
            {"\"t\"", "more than 2^64"});
    refuses(file_of("{" + tensor("t", "U8", "3", "0,3") + "}", four), {"end at byte 3", "4 follow"});
    refuses(file_of("{" + tensor("t", "U8", "3", "1,4") + "}", four), {"\"t\"", "begins at byte 1"});
    refuses(file_of("{" + tensor("a", "U8", "2", "0,2") + "," + tensor("b", "U8", "3", "1,4") + "}", four),
            {"\"b\"", "begins at byte 1", "ends at 2"});
    refuses(file_of("{" + tensor("a", "U8", "4", "0,4") + "," + tensor("b", "U8", "4", "0,4") + "}", four),
            {"begins at byte 0"});
    refuses(file_of("{" + tensor("a", "U8", "4", "0,4") + "," + tensor("a", "U8", "0", "4,4") + "}", four),
            {"\"a\" is there twice"});
    refuses(file_of("{}", four), {"end at byte 0", "4 follow"});
    // Without elements any other extent is allowed.
    BOOST_TEST(read(file_of("{" + tensor("t", "F64", "18446744073709551615,0", "0,0") + "}")).tensors().size() == 1U);
}

BOOST_AUTO_TEST_CASE(lengths_of_headers_allocate_nothing) {
    const std::string twelve(12, '{');
    for (const std::uint64_t length : {std::uint64_t{13}, std::uint64_t{0x7FFFFFFFFFFFFFFF}, ~std::uint64_t{0}}) {
        refuses(with_length(length, twelve), {std::to_string(length), "file of 20"});
    }
    refuses("", {"0 bytes"});
    refuses(std::string(7, '\0'), {"7 bytes"});
    refuses(std::string(8, '\0'), {"'{' is missing"});
}

BOOST_AUTO_TEST_CASE(what_is_no_header_is_refused) {
    for (const char* header : {"",
                               "[]",
                               "{",
                               "{}x",
                               "{} {}",
                               "{\"t\"}",
                               "{\"t\":1}",
                               "{\"t\":{}}",
                               "{\"t\":{},}",
                               "{,}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[0]}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"dtype\":\"U8\"}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"more\":1}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,0]}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[0,],\"data_offsets\":[0,0]}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}",
                               "{\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
                               "{\"t\":{\"dtype\":8,\"shape\":[0],\"data_offsets\":[0,0]}}",
                               "{\"\xFF\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                               "{\"__metadata__\":{\"a\":1}}",
                               "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}",
                               "{\"__metadata__\":[]}",
                               "{\"__metadata__\":{},\"__metadata__\":{}}"}) {
        const auto outcome = test::outcome_of([&] { read(file_of(header)); });
        BOOST_TEST((outcome.threw && outcome.is_error && outcome.kind == ErrorKind::format),
                   header << ": " << outcome.message);
    }
    // As deep as one likes: nothing recurses.
    refuses(file_of(std::string(100'000, '[')), {"'{' is missing"});
    refuses(file_of("{\"t\":" + std::string(100'000, '{')), {"text in quotes"});
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused) {
    const test::TemporaryFile place("");
    const std::vector<float> weights{1, 2, 3};
    Safetensors file;
    file.add("w", {3}, std::span<const float>(weights));
    file.set("step", "12");
    file.write(place.path());
    const std::string whole = read_file(place.path());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto outcome = test::outcome_of([&] { read(whole.substr(0, size)); });
        BOOST_TEST((outcome.threw && outcome.is_error && outcome.kind == ErrorKind::format),
                   size << " bytes were read");
    }
    refuses(whole + '\0', {"end at byte 12", "13 follow"});
}

BOOST_AUTO_TEST_CASE(nothing_is_cast_or_reshaped) {
    const auto file = read(file_of("{" + tensor("t", "F32", "2", "0,8") + "}", std::string(8, '\0')));
    const auto copies = [&]<class Scalar>(const std::string& name, std::vector<std::size_t> shape, Scalar) {
        std::vector<Scalar> values(2, Scalar{7});
        const auto outcome = test::outcome_of([&] { file.copy(name, shape, std::span<Scalar>(values)); });
        BOOST_TEST(values[0] == (outcome.threw ? Scalar{7} : Scalar{0}));
        return outcome;
    };
    BOOST_TEST(!copies("t", {2}, float{}).threw);
    test::check_error(copies("u", {2}, float{}), ErrorKind::format, {"no tensor \"u\""});
    test::check_error(copies("t", {1, 2}, float{}), ErrorKind::format, {"(F32, shape (2))", "(F32, shape (1, 2))"});
    test::check_error(copies("t", {2}, std::int32_t{}), ErrorKind::format, {"(F32, shape (2))", "(I32, shape (2))"});
    test::check_error(copies("t", {2}, double{}), ErrorKind::format, {"(F64, shape (2))"});
}

BOOST_AUTO_TEST_CASE(what_no_reader_could_read_is_not_written) {
    Safetensors file;
    const std::vector<float> values{1};
    file.add("a", {1}, std::span<const float>(values));
    for (const char* name : {"a", "__metadata__", "\xFF"}) {
        test::check_error(test::outcome_of([&] { file.add(name, {1}, std::span<const float>(values)); }),
                          ErrorKind::configuration, {});
    }
    test::check_error(test::outcome_of([&] { file.add("b", {2}, std::span<const float>(values)); }), ErrorKind::shape,
                      {"\"b\" (F32, shape (2))", "1 values"});
    test::check_error(test::outcome_of([&] { file.set("k", "\xFF"); }), ErrorKind::configuration, {"\"k\""});
    BOOST_TEST(file.tensors().size() == 1U);
    test::check_error(test::outcome_of([&] { file.write("/nowhere/file"); }), ErrorKind::format, {"/nowhere/file"});
}

}  // namespace
