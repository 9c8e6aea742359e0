// SPDX-License-Identifier: MIT
#include <lockstep/storage/aligned.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "support/conformance/storage.hpp"

namespace {

using lockstep::Aligned;

static_assert(std::is_nothrow_move_constructible_v<Aligned::buffer<float>>);
static_assert(std::is_same_v<decltype(std::declval<const Aligned::buffer<float>&>().data()), const float*>);

BOOST_AUTO_TEST_CASE(aligned_keeps_the_laws) { test::check_storage<Aligned>(100'003); }

BOOST_AUTO_TEST_CASE(moves_take_the_memory_along) {
    Aligned::buffer<double> from(1000);
    const double* const memory = from.data();
    const Aligned::buffer<double> to(std::move(from));
    BOOST_TEST(to.data() == memory);
    BOOST_TEST(from.size() == 0U);
    BOOST_TEST(from.data() == nullptr);
}

BOOST_AUTO_TEST_CASE(the_error_names_the_number_of_elements) {
    BOOST_CHECK_EXCEPTION(Aligned::buffer<float>{static_cast<std::size_t>(-1) / 2}, lockstep::ShapeError,
                          [](const lockstep::ShapeError& error) {
                              return std::string(error.what()) ==
                                     "a buffer of 9223372036854775807 elements exceeds the address space";
                          });
}

}  // namespace
