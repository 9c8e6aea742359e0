// SPDX-License-Identifier: MIT
#include <lockstep/data/file.hpp>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "support/temporary_file.hpp"

namespace {

using lockstep::FormatError;
using lockstep::read_file;
using test::TemporaryFile;

auto says(const std::string& text) {
    return [text](const std::exception& error) { return std::string(error.what()) == text; };
}

BOOST_AUTO_TEST_CASE(every_byte_is_read) {
    std::string bytes;
    for (int count = 0; count < 200'000; ++count) bytes += static_cast<char>(count * 7);
    BOOST_TEST((read_file(TemporaryFile(bytes).path()) == bytes));
    BOOST_TEST(read_file(TemporaryFile("").path()).empty());
    // Exactly one piece.
    BOOST_TEST(read_file(TemporaryFile(std::string(65536, 'x')).path()).size() == 65536U);
}

BOOST_AUTO_TEST_CASE(errors_name_path_and_reason) {
    BOOST_CHECK_EXCEPTION(read_file("/nowhere/rows.csv"), FormatError,
                          says("/nowhere/rows.csv: cannot be opened: No such file or directory"));
    BOOST_CHECK_EXCEPTION(read_file("/"), FormatError, says("/: cannot be read: Is a directory"));
    BOOST_CHECK_THROW(read_file(""), FormatError);
}

BOOST_AUTO_TEST_CASE(a_file_without_permission_is_an_error) {
    const TemporaryFile file("1");
    BOOST_REQUIRE(::chmod(file.path().c_str(), 0) == 0);
    // The superuser may read it all the same.
    if (::geteuid() == 0) {
        BOOST_TEST(read_file(file.path()) == "1");
    } else {
        BOOST_CHECK_EXCEPTION(read_file(file.path()), FormatError,
                              says(file.path() + ": cannot be opened: Permission denied"));
    }
}

std::atomic<int> signals{0};
void count_signal(int) { ++signals; }

BOOST_AUTO_TEST_CASE(signals_do_not_end_a_read) {
    // A pipe whose writer waits for signals before each thing it does: they reach the reader inside open and
    // read.
    const TemporaryFile place("");
    const std::string path = place.path() + ".pipe";
    BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    // With this end open, the writer can end even if the reader should not come.
    const int open_end = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = count_signal;
    ::sigaction(SIGALRM, &action, &before);
    ::sigset_t alarms;
    ::sigemptyset(&alarms);
    ::sigaddset(&alarms, SIGALRM);
    ::pthread_sigmask(SIG_BLOCK, &alarms, nullptr);
    std::thread writer([&path] {
        const auto wait = [] {
            for (const int seen = signals; signals < seen + 3;) std::this_thread::yield();
        };
        wait();
        const int pipe = ::open(path.c_str(), O_WRONLY);
        for (int piece = 0; piece < 3; ++piece) {
            wait();
            if (::write(pipe, "12345", 5) != 5) break;
        }
        ::close(pipe);
    });
    // Only this thread, the reader, gets the signals.
    ::pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
    const itimerval often{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    std::string bytes;
    BOOST_CHECK_NO_THROW(bytes = read_file(path));
    writer.join();
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    ::close(open_end);
    ::unlink(path.c_str());
    BOOST_TEST(bytes == "123451234512345");
}

}  // namespace
