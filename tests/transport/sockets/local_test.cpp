// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/local.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/messages.hpp"
#include "support/tmpdir.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

BOOST_AUTO_TEST_CASE(a_private_directory_is_ours_alone_and_goes_with_all_names_in_it) {
    const test::OwnTmpdir tmpdir;
    {
        PrivateDirectory directory;
        const std::string address = directory.socket(3);
        BOOST_TEST(address.starts_with("unix:" + tmpdir.path() + "/"));
        const std::string folder = address.substr(5, address.rfind('/') - 5);
        struct stat status {};
        BOOST_REQUIRE(::stat(folder.c_str(), &status) == 0);
        BOOST_TEST((status.st_mode & 0777U) == 0700U);
        // As ranks that were killed leave them.
        for (const std::string suffix : {"", ".1", ".2"}) listen_at(address + suffix, 0);
        BOOST_TEST(test::count_entries(folder.c_str()) == 3U);
    }
    BOOST_TEST(tmpdir.entries() == 0U);
}

BOOST_AUTO_TEST_CASE(a_missing_tmpdir_is_an_error_that_names_it) {
    const test::OwnTmpdir tmpdir;
    ::setenv("TMPDIR", "/no/such/folder", 1);
    test::check_error(test::outcome_of([] { PrivateDirectory directory; }), ErrorKind::transport, {"/no/such/folder"});
}

BOOST_AUTO_TEST_CASE(a_tmpdir_too_long_for_sockets_is_an_error_and_leaves_nothing) {
    const test::OwnTmpdir tmpdir;
    const std::string deep = tmpdir.path() + "/" + std::string(100, 'x');
    BOOST_REQUIRE(::mkdir(deep.c_str(), 0700) == 0);
    ::setenv("TMPDIR", deep.c_str(), 1);
    test::check_error(test::outcome_of([] { LocalMeeting meeting(2, LocalSockets::unix_domain); }),
                      ErrorKind::configuration, {deep});
    BOOST_TEST(test::count_entries(deep.c_str()) == 0U);
    ::rmdir(deep.c_str());
}

BOOST_AUTO_TEST_CASE(a_meeting_hands_its_listener_to_rank_0) {
    const test::OwnTmpdir tmpdir;
    const std::size_t descriptors = test::open_descriptors();
    for (const LocalSockets kind : {LocalSockets::tcp, LocalSockets::unix_domain}) {
        LocalMeeting meeting(3, kind);
        BOOST_TEST(test::open_descriptors() == descriptors + 1);
        Descriptor listener;
        for (const int rank : {2, 0, 1}) {
            const SocketsOptions options = meeting.options(rank);
            BOOST_TEST(options.rank == rank);
            BOOST_TEST(options.world_size == 3);
            BOOST_TEST((options.listener >= 0) == (rank == 0));
            if (rank == 0) listener = Descriptor(options.listener);
            BOOST_TEST(bool(connect_to(options.address, 0, Deadline::after(Seconds{30}))));
        }
        listener.reset();
        meeting.close();
        BOOST_TEST(test::open_descriptors() == descriptors);
    }
    BOOST_TEST(tmpdir.entries() == 0U);
}

BOOST_AUTO_TEST_CASE(a_meeting_that_is_closed_keeps_nothing_open) {
    const std::size_t descriptors = test::open_descriptors();
    LocalMeeting meeting(2, LocalSockets::tcp);
    meeting.close();
    BOOST_TEST(test::open_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE(one_rank_needs_no_meeting) {
    const test::OwnTmpdir tmpdir;
    const std::size_t descriptors = test::open_descriptors();
    for (const LocalSockets kind : {LocalSockets::tcp, LocalSockets::unix_domain}) {
        LocalMeeting meeting(1, kind);
        const SocketsOptions options = meeting.options(0);
        BOOST_TEST(options.world_size == 1);
        BOOST_TEST(options.listener == -1);
        BOOST_TEST(test::open_descriptors() == descriptors);
        BOOST_TEST(tmpdir.entries() == 0U);
    }
}

}  // namespace
