// SPDX-License-Identifier: MIT
/// @file
/// Also B29: variants of npy are read right or refused, never misread.
#include <lockstep/data/npy.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"
#include "support/temporary_file.hpp"

namespace {

using namespace lockstep;

template <class Number>
std::string raw(std::initializer_list<Number> values) {
    std::string bytes;
    for (const Number value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes;
}

/// As numpy writes it, padded with spaces to `length` bytes of header.
std::string npy(int version, std::string header, const std::string& numbers, std::size_t length = 118) {
    header.resize(length - 1, ' ');
    header += '\n';
    std::string bytes("\x93NUMPY", 6);
    bytes += static_cast<char>(version);
    bytes += '\0';
    for (int index = 0; index < (version == 1 ? 2 : 4); ++index) bytes += static_cast<char>(length >> (8 * index));
    return bytes + header + numbers;
}
std::string dictionary(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

template <class Scalar = float>
Tensor<Scalar> read(const std::string& bytes) {
    const test::TemporaryFile file(bytes);
    return read_npy<Scalar>(file.path());
}
template <class Scalar = float>
void refuses(const std::string& bytes, const std::string& part) {
    test::check_error(test::outcome_of([&] { read<Scalar>(bytes); }), ErrorKind::format, {"/tmp/lockstep-test-", part});
}

BOOST_AUTO_TEST_CASE(every_order_and_version_gives_the_same_array) {
    const std::string rows = raw<float>({1, 2, 3, 4, 5, 6});
    const std::string columns = raw<float>({1, 4, 2, 5, 3, 6});
    for (const int version : {1, 2, 3}) {
        for (const std::string& bytes : {npy(version, dictionary("<f4", "(2, 3)"), rows),
                                         npy(version, dictionary("<f4", "(2, 3)", "True"), columns),
                                         npy(version, dictionary("<f4", "(2, 3)"), rows, 5000)}) {
            const Tensor<float> array = read(bytes);
            BOOST_TEST((array.shape() == Shape{2, 3}));
            for (int index = 0; index < 6; ++index)
                BOOST_TEST(array(index / 3, index % 3) == static_cast<float>(index + 1));
        }
    }
    const Tensor<float> big = read(npy(1, dictionary(">f4", "(1,)"), std::string("\x3F\x80\0\0", 4)));
    BOOST_TEST(big(0) == 1.0F);
}

BOOST_AUTO_TEST_CASE(fortran_order_of_more_axes_is_turned) {
    // Number 100 i + 10 j + k at (i, j, k), the first axis fastest.
    std::string columns;
    for (std::int16_t k = 0; k < 4; ++k) {
        for (std::int16_t j = 0; j < 3; ++j) {
            for (std::int16_t i = 0; i < 2; ++i)
                columns += raw<std::int16_t>({static_cast<std::int16_t>(100 * i + 10 * j + k)});
        }
    }
    const auto array = read<std::int16_t>(npy(1, dictionary("<i2", "(2, 3, 4)", "True"), columns));
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
            for (int k = 0; k < 4; ++k) BOOST_TEST(array(i, j, k) == 100 * i + 10 * j + k);
        }
    }
}

BOOST_AUTO_TEST_CASE(all_types_and_shapes_are_read) {
    BOOST_TEST(read<double>(npy(1, dictionary("<f8", "(1,)"), raw<double>({0.1})))(0) == 0.1);
    BOOST_TEST(read<std::int64_t>(npy(1, dictionary("<i8", "(1,)"), raw<std::int64_t>({-7})))(0) == -7);
    BOOST_TEST(read<std::uint32_t>(npy(1, dictionary(">u4", "(1,)"), std::string("\0\0\1\2", 4)))(0) == 258U);
    BOOST_TEST(read<std::uint8_t>(npy(1, dictionary("|u1", "(2,)"), "\7\xFF"))(1) == 255);
    const Tensor<float> number = read(npy(1, dictionary("<f4", "()"), raw<float>({5})));
    BOOST_TEST((number.shape() == Shape{1}));
    BOOST_TEST(read(npy(1, dictionary("<f4", "(0, 3)"), "")).numel() == 0U);
}

BOOST_AUTO_TEST_CASE(nothing_is_cast_and_nothing_is_guessed) {
    const std::string four = raw<float>({1});
    refuses(npy(1, dictionary("<f8", "(1,)"), raw<double>({1})), "holds numbers of type \"<f8\", not \"<f4\"");
    refuses(npy(1, dictionary("<i4", "(1,)"), four), "type \"<i4\"");
    refuses(npy(1, dictionary("|f4", "(1,)"), four), "type \"|f4\"");
    refuses(npy(1, dictionary("", "(1,)"), four), "type \"\"");
    refuses(npy(1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", four), "records");
    refuses(npy(4, dictionary("<f4", "(1,)"), four), "version 4.0");
    refuses("", "is no npy file");
    refuses(std::string("PK\3\4 and so on, compressed"), "is no npy file");
    refuses(npy(1, dictionary("<f4", "(2,)"), four), "4 bytes of numbers are no array of shape (2)");
    refuses(npy(1, dictionary("<f4", "(1,)"), four + "x"), "5 bytes of numbers");
    refuses(npy(1, dictionary("<f4", "(4294967296, 4294967296)"), four), "(4294967296, 4294967296)");
    refuses(npy(1, dictionary("<f4", "(99999999999999999999,)"), four), "larger than any file");
    refuses(npy(1, dictionary("<f4", "(-1,)"), four), "no number");
    refuses(npy(1, dictionary("<f4", "(1)"), four), "',' is missing");
    refuses(npy(1, dictionary("<f4", "(1, 1, 1, 1, 1)"), four), "more than 4 axes");
    refuses(npy(1, dictionary("<f4", "(1,)", "Maybe"), four), "True or False");
    refuses(npy(1, "{'descr': '<f4', 'shape': (1,), }", four), "is missing");
    refuses(npy(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", four), "twice");
    refuses(npy(1, dictionary("<f4", "(1,)") + " x", four), "follows the dictionary");
    refuses(npy(1, "{'descr: 1", four), "does not end");
    // However it is cut, it is an error.
    const std::string whole = npy(2, dictionary("<f4", "(1,)"), four);
    for (std::size_t size = 0; size < whole.size(); ++size) refuses(whole.substr(0, size), ": ");
}

BOOST_AUTO_TEST_CASE(numpy_reads_what_we_write_and_we_read_what_numpy_writes) {
    if (std::system("/usr/bin/env python3 -c 'import numpy' > /dev/null 2>&1") != 0) {
        BOOST_TEST_MESSAGE("skipped: python3 with numpy is not installed");
        return;
    }
    const test::TemporaryFile file("");
    Tensor<double> array({2, 3});
    for (int index = 0; index < 6; ++index) array(index / 3, index % 3) = index / 7.0;
    write_npy(file.path(), array);
    const std::string script = "import numpy as n; a = n.load('" + file.path() +
                               "'); assert a.dtype == n.float64 and (a == n.arange(6).reshape(2, 3) / 7).all(); "
                               "n.save(open('" +
                               file.path() + "', 'wb'), n.asfortranarray(a.astype('>f4') * 7))";
    BOOST_REQUIRE(std::system(("/usr/bin/env python3 -c \"" + script + "\"").c_str()) == 0);
    const Tensor<float> back = read_npy<float>(file.path());
    for (int index = 0; index < 6; ++index)
        BOOST_TEST(back(index / 3, index % 3) == static_cast<float>(index), boost::test_tools::tolerance(1e-6F));
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
    const test::TemporaryFile file("");
    const auto same = [&](const auto& array) {
        using Scalar = typename std::remove_cvref_t<decltype(array)>::value_type;
        write_npy(file.path(), array);
        const Tensor<Scalar> back = read_npy<Scalar>(file.path());
        BOOST_TEST(back.numel() == array.numel());
        BOOST_TEST(back.values() == array.values(), boost::test_tools::per_element());
    };
    Tensor<std::int8_t> bytes({3});
    bytes(2) = -128;
    same(bytes);
    Tensor<float> cube({2, 1, 2, 2});
    cube(1, 0, 1, 1) = 2.5F;
    same(cube);
    same(Tensor<float>());
    same(Tensor<std::uint64_t>({4, 0}));
    test::check_error(test::outcome_of([&] { write_npy("/no/such/folder/a.npy", bytes); }), ErrorKind::format,
                      {"/no/such/folder/a.npy: cannot be written: No such file"});
}

BOOST_AUTO_TEST_CASE(without_room_the_old_file_stays) {
    const test::TemporaryFile file("old");
    rlimit before{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit small = before;
    small.rlim_cur = 4096;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const test::Outcome outcome = test::outcome_of([&] { write_npy(file.path(), Tensor<float>({10'000})); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    test::check_error(outcome, ErrorKind::format, {file.path() + ": cannot be written: File too large"});
    BOOST_TEST(read_file(file.path()) == "old");
    struct stat found {};
    BOOST_TEST(::stat((file.path() + ".partial-" + std::to_string(::getpid())).c_str(), &found) != 0);
}

}  // namespace
