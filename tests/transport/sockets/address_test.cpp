// SPDX-License-Identifier: MIT
#include <lockstep/transport/sockets/address.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/free_port.hpp"
#include "support/messages.hpp"
#include "support/temporary_file.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

Deadline soon() { return Deadline::after(Seconds{0.02}); }
Deadline late() { return Deadline::after(Seconds{30}); }

std::string first_of(const std::string& address) { return to_text(resolve(address).at(0)); }

/// The name of a file that is not there.
std::string free_name() {
    const test::TemporaryFile file("");
    return "unix:" + file.path();
}

std::string address_of(const Descriptor& listener) { return to_text(local_address(listener.get())); }

BOOST_AUTO_TEST_CASE(numeric_addresses_stand_for_themselves) {
    for (const std::string address : {"127.0.0.1:29500", "0.0.0.0:0", "10.1.2.3:65535", "unix:/tmp/socket"}) {
        BOOST_TEST(first_of(address) == address);
    }
    BOOST_TEST(first_of("[127.0.0.1]:80") == "127.0.0.1:80");
    // Numeric, so they need no look-up: also on a host without IPv6.
    BOOST_TEST(first_of("[::1]:29500") == "[::1]:29500");
    BOOST_TEST(first_of("::1:80") == "[::1]:80");
}

BOOST_AUTO_TEST_CASE(a_name_stands_for_one_address_at_least) {
    for (const SocketAddress& found : resolve("localhost:7")) {
        BOOST_TEST((to_text(found) == "127.0.0.1:7" || to_text(found) == "[::1]:7"));
    }
}

BOOST_AUTO_TEST_CASE(bad_addresses_are_errors_that_quote_them) {
    const std::size_t descriptors = test::open_descriptors();
    for (const std::string address :
         {"", "localhost", "127.0.0.1", "127.0.0.1:", "127.0.0.1:66660", "127.0.0.1:4294967376", "127.0.0.1:-1",
          "127.0.0.1:+80", "127.0.0.1: 80", "127.0.0.1:29500abc", "127.0.0.1:0x50", ":29500", "[]:80"}) {
        for (const bool listens : {true, false}) {
            const auto outcome = test::outcome_of([&] {
                if (listens) listen_at(address, 0);
                else connect_to(address, 0, late());
            });
            test::check_error(outcome, ErrorKind::configuration, {"\"" + address + "\""});
        }
    }
    BOOST_TEST(test::open_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE(socket_paths_have_a_length) {
    BOOST_TEST(first_of("unix:" + std::string(107, 'x')) == "unix:" + std::string(107, 'x'));
    test::check_error(test::outcome_of([] { resolve("unix:" + std::string(108, 'x')); }), ErrorKind::configuration,
                      {std::string(108, 'x'), "108 characters", "1 to 107"});
    test::check_error(test::outcome_of([] { resolve("unix:"); }), ErrorKind::configuration, {"\"\"", "0 characters"});
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_named_in_the_error) {
    // A host without name servers can only say that it does not know at the moment.
    const auto outcome = test::outcome_of([] { connect_to("no-such-host.invalid:29500", 0, soon()); });
    BOOST_TEST((outcome.kind == ErrorKind::configuration || outcome.kind == ErrorKind::timeout));
    BOOST_TEST(outcome.message.find("no-such-host.invalid:29500") != std::string::npos, outcome.message);
}

BOOST_AUTO_TEST_CASE(who_listens_is_reached) {
    for (const std::string& address : {std::string("127.0.0.1:0"), std::string("localhost:0"), free_name()}) {
        const Descriptor listener = listen_at(address, 0);
        const Descriptor caller = connect_to(address_of(listener), 0, late());
        BOOST_REQUIRE(poll_until(listener.get(), POLLIN, late()));
        const Descriptor called(::accept(listener.get(), nullptr, nullptr));
        BOOST_REQUIRE(called);
        BOOST_REQUIRE(write_all<SystemCalls>(caller.get(), test::message(0, 0, 9), late()));
        std::vector<std::byte> room(9);
        BOOST_TEST(read_all<SystemCalls>(called.get(), room, late()));
        for (const int descriptor : {listener.get(), caller.get()}) {
            BOOST_TEST((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
            BOOST_TEST((::fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0);
        }
        remove_name(address);
    }
}

BOOST_AUTO_TEST_CASE(loopback_is_all_that_a_loopback_listener_listens_at) {
    const Descriptor listener = listen_at("127.0.0.1:0", 0);
    BOOST_TEST(address_of(listener).starts_with("127.0.0.1:"));
}

BOOST_AUTO_TEST_CASE(nobody_there_is_an_error_at_the_deadline) {
    const test::FreePort port;
    const auto refused = test::outcome_of([&] { connect_to(port.address(), 0, soon()); });
    test::check_error(refused, ErrorKind::timeout, {"nobody answers at " + port.address(), "Connection refused"});
    const std::string name = free_name();
    const auto missing = test::outcome_of([&] { connect_to(name, 0, soon()); });
    test::check_error(missing, ErrorKind::timeout, {"nobody answers at " + name, "No such file"});
}

BOOST_AUTO_TEST_CASE(an_address_that_is_taken_is_an_error_at_once_and_stays_with_its_owner) {
    for (const std::string& wanted : {std::string("127.0.0.1:0"), free_name()}) {
        const Descriptor owner = listen_at(wanted, 0);
        const std::string address = address_of(owner);
        const auto outcome = test::outcome_of([&] { listen_at(address, 0); });
        test::check_error(outcome, ErrorKind::transport, {"cannot listen at " + address, "Address already in use"});
        BOOST_TEST(bool(connect_to(address, 0, late())));
        BOOST_TEST(poll_until(owner.get(), POLLIN, late()));
        remove_name(address);
    }
}

BOOST_AUTO_TEST_CASE(a_port_can_be_had_again_at_once) {
    // The end that closes first keeps the port in TIME_WAIT.
    const test::FreePort port;
    Descriptor listener = listen_at(port.address(), 0);
    const Descriptor caller = connect_to(port.address(), 0, late());
    BOOST_REQUIRE(poll_until(listener.get(), POLLIN, late()));
    Descriptor(::accept(listener.get(), nullptr, nullptr)).reset();
    listener.reset();
    BOOST_TEST(bool(listen_at(port.address(), 0)));
}

BOOST_AUTO_TEST_CASE(a_name_that_a_dead_process_left_is_reused) {
    const std::string address = free_name();
    listen_at(address, 0).reset();
    const Descriptor listener = listen_at(address, 0);
    BOOST_TEST(bool(connect_to(address, 0, late())));
    remove_name(address);
    test::check_error(test::outcome_of([&] { connect_to(address, 0, soon()); }), ErrorKind::timeout, {address});
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_socket_is_left_alone) {
    const test::TemporaryFile file("weights");
    const std::string address = "unix:" + file.path();
    test::check_error(test::outcome_of([&] { listen_at(address, 0); }), ErrorKind::transport, {address});
    struct stat status {};
    BOOST_TEST(::stat(file.path().c_str(), &status) == 0);
    BOOST_TEST(status.st_size == 7);
}

}  // namespace
