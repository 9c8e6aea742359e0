// SPDX-License-Identifier: MIT
#include <lockstep/collectives/auto.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/run/threads.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>

#include "support/conformance/reducer.hpp"

namespace {

using namespace lockstep;
using Choice = Auto<Naive, Tree, Ring, RecursiveDoubling, HalvingDoubling>;

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_whatever_it_picks, Runner, test::Transports) {
    for (const int world : test::worlds) {
        test::PerRank<std::string> picks(world);
        test::check_all_well(Runner::run(world, [&](auto& link) {
            Choice reducer;
            for (const std::size_t length : {0U, 1U, 100U, 300'000U}) {
                std::vector<float> values(length);
                test::fill<Sum>(std::span(values), link.rank(), world);
                reducer.all_reduce(link, std::span(values));
                for (std::size_t index = 0; index < length; ++index) {
                    test::expect(values[index] == static_cast<float>(test::reduced<Sum>(world, index)), "a sum");
                }
                picks[link.rank()] += std::string(reducer.choice(world, length * sizeof(float))) + " ";
            }
        }));
        BOOST_TEST(picks.all_are(picks[0]), "ranks pick different topologies");
    }
}

BOOST_AUTO_TEST_CASE(picks_few_rounds_where_messages_cost_and_few_bytes_where_bytes_cost) {
    Choice reducer{LinkModel{.latency = 1e-3, .seconds_per_byte = 1e-12, .overhead = 1e-3}};
    BOOST_TEST(reducer.choice(8, 1000) == std::string("recursive_doubling"));
    Choice wide{LinkModel{.latency = 1e-9, .seconds_per_byte = 1e-6}};
    BOOST_TEST(wide.choice(5, 1 << 20) == std::string("ring"));
    // As few bytes as the ring, in fewer rounds.
    BOOST_TEST(wide.choice(8, 1 << 20) == std::string("halving_doubling"));
}

BOOST_AUTO_TEST_CASE(can_be_overridden) {
    Choice reducer{LinkModel{.latency = 1e-3, .seconds_per_byte = 1e-12, .overhead = 1e-3}};
    reducer.use("naive");
    BOOST_TEST(reducer.choice(8, 1000) == std::string("naive"));
    BOOST_CHECK_EXCEPTION(reducer.use("star"), ConfigurationError, [](const Error& error) {
        return std::string(error.what()).find("\"star\"") != std::string::npos;
    });
    BOOST_TEST(reducer.choice(8, 1000) == std::string("naive"));
}

BOOST_AUTO_TEST_CASE(what_is_overridden_is_not_calibrated) {
    std::vector<std::uint64_t> messages(4);
    run_threads(4, [&](Threads link) {
        Choice reducer;
        reducer.use("ring");
        std::vector<float> values(100);
        reducer.all_reduce(link, std::span(values));
        messages[static_cast<std::size_t>(link.rank())] = link.traffic().messages;
    });
    for (const std::uint64_t each : messages) BOOST_TEST(each == 6U);
}

BOOST_AUTO_TEST_CASE(the_table_names_all_and_marks_one_a_line) {
    Choice reducer{LinkModel{.latency = 1e-5, .seconds_per_byte = 1e-9}};
    const std::string table = reducer.table(4);
    for (const char* const name : {"naive", "tree", "ring", "recursive_doubling", "halving_doubling"}) {
        BOOST_TEST(table.find(name) != std::string::npos);
    }
    BOOST_TEST(std::count(table.begin(), table.end(), '*') == std::count(table.begin(), table.end(), '\n') - 1);
}

}  // namespace
