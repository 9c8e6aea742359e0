// SPDX-License-Identifier: MIT
#include <lockstep/core/background.hpp>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::detail::Background;

BOOST_AUTO_TEST_CASE(jobs_are_done_in_order_by_one_other_thread) {
    std::vector<int> done;
    std::thread::id worker;
    Background<int> background([&](int job) {
        done.push_back(job);
        worker = std::this_thread::get_id();
    });
    background.wait();  // for nothing
    for (int round = 0; round < 3; ++round) {
        done.clear();
        for (int job = 0; job < 100; ++job) background.post(job);
        background.wait();
        BOOST_REQUIRE(done.size() == 100U);
        for (int job = 0; job < 100; ++job) BOOST_REQUIRE(done[static_cast<std::size_t>(job)] == job);
    }
    BOOST_TEST((worker != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(what_a_job_throws_is_thrown_by_wait_and_the_rest_is_not_done) {
    std::vector<int> done;
    Background<int> background([&](int job) {
        if (job == 1) throw std::runtime_error("job 1");
        done.push_back(job);
    });
    for (int job = 0; job < 4; ++job) background.post(job);
    BOOST_CHECK_EXCEPTION(background.wait(), std::runtime_error,
                          [](const std::runtime_error& error) { return error.what() == std::string("job 1"); });
    BOOST_TEST(done == std::vector<int>{0}, boost::test_tools::per_element());
    background.post(5);
    background.wait();
    BOOST_TEST(done == (std::vector<int>{0, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_was_posted_is_done_before_the_end) {
    int sum = 0;
    {
        Background<int> background([&](int job) { sum += job; });
        for (int job = 1; job <= 100; ++job) background.post(job);
    }
    BOOST_TEST(sum == 5050);
}

}  // namespace
