// SPDX-License-Identifier: MIT
#include <lockstep/core/deadline.hpp>

#include <chrono>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Deadline;
using lockstep::Seconds;
using lockstep::to_string;

BOOST_AUTO_TEST_CASE(seconds_are_written_short) {
    BOOST_TEST(to_string(Seconds{1.5}) == "1.5 s");
    BOOST_TEST(to_string(Seconds{30}) == "30 s");
    BOOST_TEST(to_string(Seconds{100}) == "100 s");
    BOOST_TEST(to_string(Seconds{0}) == "0 s");
    BOOST_TEST(to_string(Seconds{0.25}) == "0.25 s");
    BOOST_TEST(to_string(std::chrono::milliseconds{7}) == "0.007 s");
}

BOOST_AUTO_TEST_CASE(a_deadline_lies_that_far_ahead) {
    const auto before = Deadline::Clock::now();
    const Deadline deadline = Deadline::after(Seconds{100});
    const auto after = Deadline::Clock::now();
    BOOST_TEST((deadline.time() >= before + std::chrono::seconds{100}));
    BOOST_TEST((deadline.time() <= after + std::chrono::seconds{100}));
    BOOST_TEST(!deadline.passed());
    const int left = deadline.milliseconds_left();
    BOOST_TEST(left > 0);
    BOOST_TEST(left <= 100'000);
}

BOOST_AUTO_TEST_CASE(a_rough_deadline_lies_about_that_far_ahead) {
    const auto before = Deadline::Clock::now();
    const Deadline deadline = Deadline::soon_after(Seconds{100});
    const auto after = Deadline::Clock::now();
    BOOST_TEST((deadline.time() >= before + std::chrono::seconds{99}));
    BOOST_TEST((deadline.time() <= after + std::chrono::seconds{101}));
}

BOOST_AUTO_TEST_CASE(a_deadline_of_nothing_has_passed) {
    for (const double span : {0.0, -1.0, -1e300, -std::numeric_limits<double>::infinity()}) {
        const Deadline deadline = Deadline::after(Seconds{span});
        BOOST_TEST(deadline.passed());
        BOOST_TEST(deadline.milliseconds_left() == 0);
    }
}

BOOST_AUTO_TEST_CASE(what_is_left_is_rounded_up) {
    // Less than a millisecond is not yet nothing: poll(2) would return at once, again and again.
    Deadline deadline = Deadline::after(Seconds{0.0009});
    const int left = deadline.milliseconds_left();
    BOOST_TEST((left == 1 || deadline.passed()));
}

BOOST_AUTO_TEST_CASE(for_ever_does_not_overflow) {
    for (const double span : {4e9, 1e300, std::numeric_limits<double>::infinity()}) {
        const Deadline deadline = Deadline::after(Seconds{span});
        BOOST_TEST(!deadline.passed());
        // More milliseconds than an int holds.
        BOOST_TEST(deadline.milliseconds_left() == std::numeric_limits<int>::max());
        BOOST_TEST((deadline.time() > Deadline::Clock::now() + std::chrono::hours{24 * 365}));
    }
}

}  // namespace
