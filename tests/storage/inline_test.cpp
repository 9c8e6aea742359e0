// SPDX-License-Identifier: MIT
#include <lockstep/storage/inline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "support/conformance/storage.hpp"

namespace {

using lockstep::Inline;

static_assert(sizeof(Inline<16>::buffer<float>) == 128, "a cache line of values and one of size");

BOOST_AUTO_TEST_CASE(inline_keeps_the_laws) { test::check_storage<Inline<300>>(300); }

BOOST_AUTO_TEST_CASE(the_values_lie_in_the_object) {
    const Inline<9>::buffer<float> buffer(9);
    const auto object = reinterpret_cast<std::uintptr_t>(&buffer);
    const auto values = reinterpret_cast<std::uintptr_t>(buffer.data());
    BOOST_TEST(values >= object);
    BOOST_TEST(values + 9 * sizeof(float) <= object + sizeof(buffer));
}

BOOST_AUTO_TEST_CASE(one_more_than_the_capacity_is_an_error) {
    BOOST_TEST(Inline<4>::buffer<float>(4).size() == 4U);
    BOOST_CHECK_EXCEPTION(Inline<4>::buffer<float>{5}, lockstep::ShapeError, [](const lockstep::ShapeError& error) {
        return std::string(error.what()) == "Inline<4> cannot hold 5 elements";
    });
    BOOST_TEST(Inline<0>::buffer<float>(0).size() == 0U);
    BOOST_CHECK_THROW(Inline<0>::buffer<float>{1}, lockstep::ShapeError);
}

}  // namespace
