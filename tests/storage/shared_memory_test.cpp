// SPDX-License-Identifier: MIT
#include <lockstep/storage/shared_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "support/conformance/storage.hpp"

namespace {

using lockstep::ShapeError;
using lockstep::SharedMemory;

std::set<std::string> entries(const char* folder) {
    std::set<std::string> names;
    DIR* const listing = ::opendir(folder);
    BOOST_REQUIRE(listing != nullptr);
    while (const dirent* const entry = ::readdir(listing)) names.insert(entry->d_name);
    ::closedir(listing);
    return names;
}

/// Mappings of this process that are ours.
std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("memfd:lockstep") != std::string::npos;
    return count;
}

/// What `work` returns in a forked child.
template <class Work>
int in_child(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        int code = 99;
        try {
            code = work();
        } catch (...) {
        }
        ::_exit(code);
    }
    BOOST_REQUIRE(child > 0);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

BOOST_AUTO_TEST_CASE(shared_memory_keeps_the_laws) { test::check_storage<SharedMemory>(100'003); }

BOOST_AUTO_TEST_CASE(a_forked_child_sees_the_same_values) {
    SharedMemory::buffer<int> buffer(3000);
    buffer.data()[0] = 41;
    const int seen = in_child([&] {
        const int before = buffer.data()[0];
        buffer.data()[2999] = 43;
        return before;
    });
    BOOST_TEST(seen == 41);
    BOOST_TEST(buffer.data()[2999] == 43);
}

BOOST_AUTO_TEST_CASE(a_copy_is_not_seen_by_others) {
    SharedMemory::buffer<int> buffer(10);
    auto copy = buffer;
    BOOST_TEST(copy.descriptor() != buffer.descriptor());
    BOOST_TEST(in_child([&] { return buffer.data()[3] = 5; }) == 5);
    BOOST_TEST(buffer.data()[3] == 5);
    BOOST_TEST(copy.data()[3] == 0);
}

BOOST_AUTO_TEST_CASE(a_descriptor_is_enough_to_attach) {
    SharedMemory::buffer<double> buffer(1000);
    buffer.data()[999] = 2.5;
    auto whole = SharedMemory::buffer<double>::attach(buffer.descriptor(), 1000);
    BOOST_TEST(whole.data() != buffer.data());
    BOOST_TEST(whole.data()[999] == 2.5);
    whole.data()[0] = 1.5;
    BOOST_TEST(buffer.data()[0] == 1.5);
    const auto part = SharedMemory::buffer<double>::attach(buffer.descriptor(), 1);
    BOOST_TEST(part.size() == 1U);
    BOOST_TEST(part.data()[0] == 1.5);

    const int descriptor = buffer.descriptor();
    const int code = in_child([descriptor] {
        auto attached = SharedMemory::buffer<double>::attach(descriptor, 1000);
        attached.data()[1] = 3.5;
        return attached.data()[999] == 2.5 ? 0 : 1;
    });
    BOOST_TEST(code == 0);
    BOOST_TEST(buffer.data()[1] == 3.5);

    // What was attached has a descriptor of its own and outlives the first buffer.
    buffer = SharedMemory::buffer<double>();
    BOOST_TEST(whole.data()[1] == 3.5);
}

BOOST_AUTO_TEST_CASE(attaching_to_more_than_there_is_fails) {
    const SharedMemory::buffer<float> buffer(1000);
    BOOST_CHECK_EXCEPTION(
        SharedMemory::buffer<float>::attach(buffer.descriptor(), 1001), ShapeError, [](const ShapeError& error) {
            return std::string(error.what()) == "shared memory holds 4000 bytes, not the 4004 asked for";
        });
    BOOST_CHECK_THROW(SharedMemory::buffer<float>::attach(buffer.descriptor(), static_cast<std::size_t>(-1) / 2),
                      ShapeError);
    BOOST_CHECK_THROW(SharedMemory::buffer<float>::attach(-1, 1), ShapeError);
    int ends[2] = {-1, -1};
    BOOST_REQUIRE(::pipe(ends) == 0);
    BOOST_CHECK_THROW(SharedMemory::buffer<float>::attach(ends[0], 1), ShapeError);
    ::close(ends[0]);
    ::close(ends[1]);
}

BOOST_AUTO_TEST_CASE(more_than_the_machine_has_fails_at_once) {
    // 2^63 - 1 bytes pass the address space check; reserving them page by page would end with the killer.
    BOOST_CHECK_THROW(SharedMemory::buffer<std::uint8_t>{static_cast<std::size_t>(-1) / 2}, ShapeError);
    BOOST_CHECK_THROW(SharedMemory::buffer<float>{std::size_t{1} << 48}, ShapeError);
}

BOOST_AUTO_TEST_CASE(descriptors_close_on_exec) {
    const SharedMemory::buffer<float> buffer(1);
    const auto attached = SharedMemory::buffer<float>::attach(buffer.descriptor(), 1);
    for (const int descriptor : {buffer.descriptor(), attached.descriptor()}) {
        BOOST_TEST((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
    const auto files = entries("/dev/shm");
    const auto descriptors = entries("/proc/self/fd").size();
    {
        SharedMemory::buffer<float> buffer(5000);
        auto copy = buffer;
        auto attached = SharedMemory::buffer<float>::attach(buffer.descriptor(), 10);
        const auto moved = std::move(copy);
        copy = buffer;
        attached = moved;
        BOOST_TEST(mappings() == 4U);
        BOOST_TEST(entries("/proc/self/fd").size() == descriptors + 4);
        BOOST_TEST((entries("/dev/shm") == files));
        const int code = in_child([&] {
            attached.data()[0] = 1;
            return 0;
        });
        BOOST_TEST(code == 0);
        BOOST_CHECK_THROW(SharedMemory::buffer<float>::attach(buffer.descriptor(), 5001), ShapeError);
    }
    BOOST_TEST(mappings() == 0U);
    BOOST_TEST(entries("/proc/self/fd").size() == descriptors);
    BOOST_TEST((entries("/dev/shm") == files));
}

}  // namespace
