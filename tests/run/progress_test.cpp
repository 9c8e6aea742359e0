// SPDX-License-Identifier: MIT
#include <lockstep/run/progress.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Progress;

/// A file that is no terminal.
struct Silent {
    std::FILE* stream = std::tmpfile();
    Silent() { BOOST_REQUIRE(stream != nullptr); }
    ~Silent() { std::fclose(stream); }
    long size() const {
        std::fflush(stream);
        std::fseek(stream, 0, SEEK_END);
        return std::ftell(stream);
    }
};

std::string line_of(std::size_t total, std::size_t done, double loss, double seconds) {
    const Silent file;
    Progress progress("epoch 2", total, true, file.stream);
    progress.advance(done, loss);
    return progress.line(loss, seconds);
}

BOOST_AUTO_TEST_CASE(the_line_says_what_is_done_and_how_long_the_rest_will_take) {
    BOOST_TEST(line_of(90, 45, 0.1234, 9) ==
               "epoch 2 [============>...........] 45/90  loss 0.1234  5 rows/s  9 s left");
    BOOST_TEST(line_of(96, 0, 2.5, 3) == "epoch 2 [>.......................] 0/96  loss 2.5000  0 rows/s  0 s left");
    BOOST_TEST(line_of(96, 4, 2.5, 0.5) == "epoch 2 [=>......................] 4/96  loss 2.5000  8 rows/s  12 s left");
    BOOST_TEST(line_of(96, 95, 1e-5, 1) ==
               "epoch 2 [=======================>] 95/96  loss 0.0000  95 rows/s  0 s left");
    BOOST_TEST(line_of(96, 96, 0.25, 2) ==
               "epoch 2 [========================] 96/96  loss 0.2500  48 rows/s  0 s left");
}

BOOST_AUTO_TEST_CASE(odd_numbers_do_no_harm) {
    // Nothing to do, more done than there was to do, no time gone by.
    BOOST_TEST(line_of(0, 0, 0, 0) == "epoch 2 [========================] 0/0  loss 0.0000  0 rows/s  0 s left");
    BOOST_TEST(line_of(10, 20, 0, 2) == "epoch 2 [========================] 20/10  loss 0.0000  10 rows/s  0 s left");
    BOOST_TEST(line_of(10, 5, 0, 0) == "epoch 2 [============>...........] 5/10  loss 0.0000  0 rows/s  0 s left");
    BOOST_TEST(line_of(10, 5, 1e300, 1e-300).starts_with("epoch 2 [============>...........] 5/10  loss 1000"));
}

BOOST_AUTO_TEST_CASE(what_is_no_terminal_stays_empty) {
    const Silent file;
    {
        Progress progress("epoch 1", 10, true, file.stream);
        for (int row = 0; row < 10; ++row) progress.advance(1, 0.5);
        BOOST_TEST(progress.done() == 10U);
    }
    BOOST_TEST(file.size() == 0);
}

/// A terminal and what is drawn on it.
struct Terminal {
    int screen = ::posix_openpt(O_RDWR | O_NOCTTY);
    std::FILE* stream = nullptr;

    Terminal() {
        if (screen < 0 || ::grantpt(screen) != 0 || ::unlockpt(screen) != 0) return;
        stream = std::fopen(::ptsname(screen), "w");
    }
    ~Terminal() {
        if (stream != nullptr) std::fclose(stream);
        if (screen >= 0) ::close(screen);
    }
    /// All that was drawn so far, after a mark of our own that ends it.
    std::string drawn() const {
        std::fputs("#", stream);
        std::fflush(stream);
        std::string text;
        std::array<char, 512> piece{};
        while (text.empty() || text.back() != '#') {
            const ssize_t count = ::read(screen, piece.data(), piece.size());
            if (count <= 0) break;
            text.append(piece.data(), static_cast<std::size_t>(count));
        }
        return text;
    }
};

BOOST_AUTO_TEST_CASE(on_a_terminal_the_last_state_is_drawn_and_wiped_in_the_end) {
    const Terminal terminal;
    if (terminal.stream == nullptr) {
        BOOST_TEST_MESSAGE("no terminals here");
        return;
    }
    {
        Progress progress("epoch 1", 3, true, terminal.stream);
        for (int row = 0; row < 3; ++row) progress.advance(1, 0.5);
    }
    const std::string text = terminal.drawn();
    BOOST_TEST(text.starts_with("\repoch 1 ["), text);
    BOOST_TEST(text.find("] 3/3  loss 0.5000") != std::string::npos, text);
    BOOST_TEST(text.ends_with("\033[K\r\033[K#"), text);
}

BOOST_AUTO_TEST_CASE(who_does_not_want_it_does_not_see_it) {
    const Terminal terminal;
    if (terminal.stream == nullptr) return;
    {
        Progress progress("epoch 1", 3, false, terminal.stream);
        progress.advance(3, 0.5);
    }
    BOOST_TEST(terminal.drawn() == "#");
}

}  // namespace
