// SPDX-License-Identifier: MIT
#include <lockstep/storage/borrowed.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "support/conformance/storage.hpp"

namespace {

using lockstep::Borrowed;

static_assert(!std::constructible_from<Borrowed::buffer<float>, std::size_t>, "a view cannot make memory");
static_assert(std::is_same_v<decltype(std::declval<const Borrowed::buffer<float>&>().data()), float*>);
static_assert(std::is_same_v<decltype(std::declval<Borrowed::buffer<const float>&>().data()), const float*>);
static_assert(lockstep::Storage<Borrowed, const float>);

BOOST_AUTO_TEST_CASE(borrowed_keeps_the_laws) { test::check_storage<Borrowed>(1000); }

BOOST_AUTO_TEST_CASE(a_view_is_of_the_memory_itself) {
    std::array<float, 5> memory{1, 2, 3, 4, 5};
    const Borrowed::buffer<float> view{std::span<float>(memory).subspan(1, 3)};
    BOOST_TEST(view.data() == memory.data() + 1);
    BOOST_TEST(view.size() == 3U);
    view.data()[0] = 20;
    BOOST_TEST(memory[1] == 20);
}

}  // namespace
