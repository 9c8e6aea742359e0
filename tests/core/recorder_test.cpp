// SPDX-License-Identifier: MIT
#include <lockstep/core/recorder.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/tmpdir.hpp"

namespace {

using lockstep::Recorder;
using lockstep::Seconds;

lockstep::Call call(std::uint64_t sequence) {
    return {.sequence = sequence, .request = {.operation = lockstep::Operation::barrier}};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

BOOST_AUTO_TEST_CASE(nothing_has_happened_yet) {
    Recorder recorder;
    recorder.waited(1, Seconds{1});
    BOOST_TEST(recorder.text(0, "").empty());
    BOOST_TEST(lines_of(recorder.text(0, "why")).size() == 1U);
}

BOOST_AUTO_TEST_CASE(calls_are_told_with_their_waits) {
    Recorder recorder;
    recorder.begin(call(5));
    recorder.waited(2, Seconds{0.25});
    recorder.waited(3, Seconds{0.5});
    recorder.waited(2, Seconds{0.125});
    recorder.begin(call(6));
    const auto lines = lines_of(recorder.text(1, "rank 3 is lost\nfor good"));
    BOOST_REQUIRE(lines.size() == 3U);
    BOOST_TEST(lines[0].starts_with("5\trank 1\t"));
    BOOST_TEST(lines[0].ends_with("\tbarrier #5\twaited 0.875 s, longest for rank 3: 0.5 s"), lines[0]);
    BOOST_TEST(lines[1].ends_with("\tbarrier #6\twaited 0 s"), lines[1]);
    BOOST_TEST(lines[2].starts_with("6\trank 1\t"));
    BOOST_TEST(lines[2].ends_with("\trank 3 is lost for good"));
}

BOOST_AUTO_TEST_CASE(only_the_last_calls_are_kept) {
    Recorder recorder;
    for (std::uint64_t number = 0; number < 1000; ++number) recorder.begin(call(number));
    const auto lines = lines_of(recorder.text(0, ""));
    BOOST_REQUIRE(lines.size() == Recorder::capacity);
    BOOST_TEST(lines.front().starts_with(std::to_string(1000 - Recorder::capacity) + "\t"));
    BOOST_TEST(lines.back().starts_with("999\t"));
}

BOOST_AUTO_TEST_CASE(records_of_ranks_are_merged_by_sorting) {
    const test::OwnTmpdir tmpdir;
    const std::string path = tmpdir.path() + "/record";
    std::vector<std::string> all;
    for (const int rank : {0, 1}) {
        Recorder recorder;
        for (std::uint64_t number = 8; number < 12; ++number) recorder.begin(call(number));
        BOOST_TEST(recorder.write(path, rank, "rank 1 is lost"));
        std::ifstream file(path + "." + std::to_string(rank));
        const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        BOOST_TEST(lines_of(text).size() == 5U);
        for (const std::string& line : lines_of(text)) all.push_back(line);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& left, const auto& right) { return std::stoi(left) < std::stoi(right); });
    BOOST_TEST(all[0].starts_with("8\trank 0"));
    BOOST_TEST(all[1].starts_with("8\trank 1"));
    BOOST_TEST(all.back().ends_with("rank 1 is lost"));
    for (const int rank : {0, 1}) std::remove((path + "." + std::to_string(rank)).c_str());
    BOOST_TEST(!Recorder().write(tmpdir.path() + "/no/such/folder", 0, ""));
}

}  // namespace
