// SPDX-License-Identifier: MIT
#include <lockstep/core/arithmetic.hpp>

#include <cfenv>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::StandardArithmetic;

/// Read when the program runs: the compiler cannot do the sums in advance.
volatile float one = 1;
volatile float three = 3;

BOOST_AUTO_TEST_CASE(rounds_to_nearest_while_it_lives_and_gives_the_mode_back) {
    const float nearest = one / three;
    for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
        BOOST_REQUIRE(std::fesetround(direction) == 0);
        float inside = 0;
        {
            const StandardArithmetic mode;
            inside = one / three;
        }
        const int after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        BOOST_TEST(inside == nearest);
        BOOST_TEST(after == direction);
    }
}

BOOST_AUTO_TEST_CASE(nests) {
    const float nearest = -one / three;
    float inside = 0;
    std::fesetround(FE_UPWARD);
    {
        const StandardArithmetic outer;
        { const StandardArithmetic inner; }
        inside = -one / three;
    }
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    BOOST_TEST(inside == nearest);
    BOOST_TEST(after == FE_UPWARD);
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(keeps_denormals_where_the_caller_flushes_them) {
    volatile float least = std::numeric_limits<float>::min();
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040U);
    const float flushed = least / three;
    float kept = 0;
    {
        const StandardArithmetic mode;
        kept = least / three;
    }
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    BOOST_TEST(flushed == 0);
    BOOST_TEST(kept > 0);
    BOOST_TEST((after & 0x8040U) == 0x8040U);
}
#endif

}  // namespace
