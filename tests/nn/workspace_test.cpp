// SPDX-License-Identifier: MIT
#include <lockstep/nn/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Workspace;

BOOST_AUTO_TEST_CASE(memory_stays_where_it_is_until_more_is_needed) {
    Workspace<float> workspace;
    const auto large = workspace.reserve(100);
    BOOST_TEST(large.size() == 100U);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(large.data()) % 64 == 0U);
    large[99] = 5;
    const auto small = workspace.reserve(10);
    BOOST_TEST(small.size() == 10U);
    BOOST_TEST(small.data() == large.data());
    BOOST_TEST(workspace.reserve(100)[99] == 5);
    const auto larger = workspace.reserve(1000);
    BOOST_TEST(larger.size() == 1000U);
    larger[999] = 1;
}

BOOST_AUTO_TEST_CASE(copies_have_memory_of_their_own_and_moves_take_it_along) {
    Workspace<double> workspace;
    double* const memory = workspace.reserve(8).data();
    Workspace<double> copy = workspace;
    BOOST_TEST(copy.reserve(8).data() != memory);
    Workspace<double> moved = std::move(workspace);
    BOOST_TEST(moved.reserve(8).data() == memory);
    double* const own = copy.reserve(8).data();
    copy = moved;
    BOOST_TEST(copy.reserve(8).data() == own);
}

BOOST_AUTO_TEST_CASE(blocks_are_whole_cache_lines) {
    static_assert(lockstep::detail::whole_lines(0) == 0);
    static_assert(lockstep::detail::whole_lines(1) == 16);
    static_assert(lockstep::detail::whole_lines(16) == 16);
    static_assert(lockstep::detail::whole_lines(17) == 32);
    BOOST_TEST(Workspace<float>().reserve(0).size() == 0U);
}

}  // namespace
