// SPDX-License-Identifier: MIT
#include <lockstep/collectives/reduction.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <lockstep/storage/aligned.hpp>

namespace {

using namespace lockstep;
using Elements = boost::mpl::list<float, double, std::int32_t, std::int64_t, std::uint8_t>;
using Reals = boost::mpl::list<float, double>;
using Integers = boost::mpl::list<std::int32_t, std::int64_t>;

static_assert(Sum::kind == Reduction::sum && Min::kind == Reduction::min && Max::kind == Reduction::max);

template <class Real>
using Bits = std::conditional_t<std::same_as<Real, float>, std::uint32_t, std::uint64_t>;
template <class Real>
Bits<Real> bits(Real value) {
    return std::bit_cast<Bits<Real>>(value);
}

/// Fractions whose sums are rounded, or whole numbers; neither sorted nor of one sign.
template <class Value>
Value element(std::size_t index, int seed) {
    const int mixed = (static_cast<int>(index) * 37 + seed * 11) % 101 - 50;
    if constexpr (std::floating_point<Value>) return static_cast<Value>(mixed) / static_cast<Value>(7 + seed);
    else return static_cast<Value>(mixed);
}

/// What the operator says of two elements, in the plainest words.
template <class Operator, class Value>
Value plain(Value left, Value right) {
    if constexpr (std::same_as<Operator, Sum>) return static_cast<Value>(left + right);
    else if constexpr (std::same_as<Operator, Min>) return std::min(left, right);
    else return std::max(left, right);
}

/// Every length of the unrolled loops and their rests, at every address that the type allows within a cache line.
template <class Operator, class Value>
void check_loop(Combine combine) {
    constexpr std::size_t longest = 70;
    constexpr std::size_t shifts = 64 / sizeof(Value);
    Aligned::buffer<Value> target(longest + shifts + 1);
    Aligned::buffer<Value> source(longest + shifts + 1);
    std::size_t wrong = 0;
    for (std::size_t length = 0; length <= longest; ++length) {
        for (std::size_t shift = 0; shift < shifts; ++shift) {
            // The two are out of step with each other, too.
            const std::size_t into = shift;
            const std::size_t from = (3 * shift + length) % shifts;
            for (std::size_t index = 0; index < target.size(); ++index) {
                target.data()[index] = element<Value>(index, 1);
                source.data()[index] = element<Value>(index, 2);
            }
            combine(std::as_writable_bytes(std::span(target.data() + into, length)).data(),
                    std::as_bytes(std::span(source.data() + from, length)).data(), length * sizeof(Value));
            for (std::size_t index = 0; index < target.size(); ++index) {
                Value expected = element<Value>(index, 1);
                if (index >= into && index < into + length) {
                    expected = plain<Operator, Value>(expected, element<Value>(from + index - into, 2));
                }
                if (target.data()[index] != expected) ++wrong;
                if (source.data()[index] != element<Value>(index, 2)) ++wrong;
            }
        }
    }
    BOOST_TEST(wrong == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(loops_do_what_a_plain_loop_does, Value, Elements) {
    check_loop<Sum, Value>(combine_of<Sum, Value>());
    check_loop<Min, Value>(combine_of<Min, Value>());
    check_loop<Max, Value>(combine_of<Max, Value>());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_instruction_set_adds_the_same, Real, Reals) {
    check_loop<Sum, Real>(&detail::combine_plain<Sum, Real>);
    check_loop<Sum, Real>(&detail::add_baseline<Real>);
#if defined(__x86_64__)
    if (widest_isa() >= Isa::avx2) check_loop<Sum, Real>(&detail::add_avx2<Real>);
    if (widest_isa() >= Isa::avx512) check_loop<Sum, Real>(&detail::add_avx512<Real>);
#endif
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_of_integers_wrap, Whole, Integers) {
    constexpr Whole largest = std::numeric_limits<Whole>::max();
    constexpr Whole smallest = std::numeric_limits<Whole>::min();
    static_assert(Sum::apply<Whole>(largest, 1) == smallest && Sum::apply<Whole>(smallest, -1) == largest);
    std::vector<Whole> into{largest, smallest, largest, -1};
    const std::vector<Whole> from{1, -1, largest, 1};
    combine_of<Sum, Whole>()(std::as_writable_bytes(std::span(into)).data(), std::as_bytes(std::span(from)).data(),
                             into.size() * sizeof(Whole));
    BOOST_TEST((into == std::vector<Whole>{smallest, largest, -2, 0}));
}

BOOST_AUTO_TEST_CASE(sums_of_bytes_wrap) {
    static_assert(Sum::apply<std::uint8_t>(200, 100) == 44 && Sum::apply<std::uint8_t>(255, 255) == 254);
    static_assert(Max::apply<std::uint8_t>(200, 100) == 200 && Min::apply<std::uint8_t>(200, 100) == 100);
}

/// `Operator` of two elements, by the loop.
template <class Operator, class Real>
Real combined(Real left, Real right) {
    // Enough of them for the vectors, and one for the rest.
    std::vector<Real> into(67, left);
    const std::vector<Real> from(67, right);
    combine_of<Operator, Real>()(std::as_writable_bytes(std::span(into)).data(), std::as_bytes(std::span(from)).data(),
                                 into.size() * sizeof(Real));
    const auto same = [&](Real value) { return bits(value) == bits(into[0]); };
    BOOST_TEST(std::all_of(into.begin(), into.end(), same), "elements of one loop differ");
    return into[0];
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_nan_on_either_side_wins, Real, Reals) {
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    constexpr Real inf = std::numeric_limits<Real>::infinity();
    for (const Real other : {Real{0}, Real{-3}, Real{3}, inf, -inf, nan}) {
        BOOST_TEST(std::isnan(combined<Sum>(nan, other)));
        BOOST_TEST(std::isnan(combined<Sum>(other, nan)));
        BOOST_TEST(std::isnan(combined<Min>(nan, other)));
        BOOST_TEST(std::isnan(combined<Min>(other, nan)));
        BOOST_TEST(std::isnan(combined<Max>(nan, other)));
        BOOST_TEST(std::isnan(combined<Max>(other, nan)));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(infinities_follow_ieee_754, Real, Reals) {
    constexpr Real inf = std::numeric_limits<Real>::infinity();
    BOOST_TEST(std::isnan(combined<Sum>(inf, -inf)));
    BOOST_TEST(combined<Sum>(inf, Real{1}) == inf);
    BOOST_TEST(combined<Sum>(Real{1}, -inf) == -inf);
    BOOST_TEST(combined<Min>(inf, -inf) == -inf);
    BOOST_TEST(combined<Min>(Real{5}, inf) == Real{5});
    BOOST_TEST(combined<Max>(inf, -inf) == inf);
    BOOST_TEST(combined<Max>(-inf, Real{-5}) == Real{-5});
    constexpr Real largest = std::numeric_limits<Real>::max();
    BOOST_TEST(combined<Sum>(largest, largest) == inf);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(zeros_keep_their_signs_in_any_order, Real, Reals) {
    constexpr Real plus = 0;
    constexpr Real minus = -plus;
    BOOST_TEST(bits(combined<Sum>(minus, minus)) == bits(minus));
    BOOST_TEST(bits(combined<Sum>(minus, plus)) == bits(plus));
    BOOST_TEST(bits(combined<Sum>(plus, minus)) == bits(plus));
    BOOST_TEST(bits(combined<Min>(minus, plus)) == bits(minus));
    BOOST_TEST(bits(combined<Min>(plus, minus)) == bits(minus));
    BOOST_TEST(bits(combined<Min>(plus, plus)) == bits(plus));
    BOOST_TEST(bits(combined<Max>(minus, plus)) == bits(plus));
    BOOST_TEST(bits(combined<Max>(plus, minus)) == bits(plus));
    BOOST_TEST(bits(combined<Max>(minus, minus)) == bits(minus));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(denormals_are_not_flushed, Real, Reals) {
    constexpr Real tiny = std::numeric_limits<Real>::denorm_min();
    BOOST_TEST(bits(combined<Sum>(tiny, tiny)) == 2U);
    BOOST_TEST(bits(combined<Sum>(tiny, -tiny)) == 0U);
    BOOST_TEST(bits(combined<Max>(tiny, Real{0})) == 1U);
    BOOST_TEST(bits(combined<Min>(tiny, 2 * tiny)) == 1U);
}

BOOST_AUTO_TEST_CASE(no_elements_may_have_no_address) {
    combine_of<Sum, float>()(nullptr, nullptr, 0);
    combine_of<Max, std::int64_t>()(nullptr, nullptr, 0);
    BOOST_TEST(true);
}

}  // namespace
