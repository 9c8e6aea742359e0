// SPDX-License-Identifier: MIT
#include <lockstep/transport/shared_memory.hpp>

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <dirent.h>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/run/processes.hpp>

#include "support/conformance/transport.hpp"
#include "support/descriptors.hpp"
#include "support/shared_memory.hpp"

namespace {

static_assert(lockstep::SharedAddressSpace<lockstep::SharedMemoryTransport> &&
              lockstep::SharedAddressSpace<lockstep::Threads>);

using namespace lockstep;

BOOST_AUTO_TEST_CASE(carries_bytes) { test::check_carries<test::OverSharedMemory>(); }
BOOST_AUTO_TEST_CASE(fails_together) { test::check_fails_together<test::OverSharedMemory>(); }

std::size_t files_in_shm() {
    std::size_t count = 0;
    DIR* const listing = ::opendir("/dev/shm");
    if (listing == nullptr) return 0;
    while (::readdir(listing) != nullptr) ++count;
    ::closedir(listing);
    return count;
}

/// Every rank sums until one of them is gone; what the caller is told.
template <class Ending>
test::Outcome outcome_of_processes(int world, Ending ending) {
    return test::outcome_of([&] {
        run_processes<SharedMemoryTransport>(world,
                                             [&](SharedMemoryTransport link) {
                                                 SharedMemory::buffer<float> values(30'000);
                                                 for (int call = 0; call < 1000; ++call) {
                                                     if (call == 50 && link.rank() == world - 1) ending();
                                                     all_reduce<Fused>(link, std::span(values.data(), values.size()));
                                                 }
                                             },
                                             {.timeout = Seconds{20}});
    });
}

BOOST_AUTO_TEST_CASE(processes_sum_in_each_others_memory) {
    for (const int world : test::worlds) {
        const auto outcome = test::outcome_of([&] {
            run_processes<SharedMemoryTransport>(world, [&](SharedMemoryTransport link) {
                // Buffers come and go: a descriptor stands for another file each time.
                for (int round = 1; round <= 5; ++round) {
                    const auto length = static_cast<std::size_t>(10'000 * round + 3);
                    SharedMemory::buffer<double> values(length);
                    for (std::size_t index = 0; index < length; ++index) {
                        values.data()[index] = static_cast<double>(link.rank() + round) + static_cast<double>(index);
                    }
                    all_reduce<Fused>(link, std::span(values.data(), length));
                    const double sum = world * (world - 1) / 2.0 + world * round;
                    for (std::size_t index = 0; index < length; ++index) {
                        test::expect(values.data()[index] == sum + world * static_cast<double>(index), "a sum");
                    }
                }
            });
        });
        BOOST_TEST(!outcome.threw, outcome.message);
    }
}

BOOST_AUTO_TEST_CASE(a_killed_rank_is_named_and_nothing_is_left_behind) {
    const std::size_t files = files_in_shm();
    const auto outcome = outcome_of_processes(3, [] { ::raise(SIGKILL); });
    BOOST_TEST((outcome.is_error && outcome.kind == ErrorKind::peer_lost));
    BOOST_TEST(outcome.message.find("rank 2 was killed by signal 9") == 0U, outcome.message);
    BOOST_TEST(files_in_shm() == files);
}

BOOST_AUTO_TEST_CASE(an_exception_in_one_process_reaches_the_caller) {
    const auto outcome = outcome_of_processes(3, [] { throw std::runtime_error("bad row 7"); });
    BOOST_TEST(outcome.message == "rank 2: bad row 7");
}

BOOST_AUTO_TEST_CASE(descriptors_are_as_before_after_many_lives) {
    const auto live = [] {
        test::check_all_well(test::OverSharedMemory::run(3, [](auto& link) {
            SharedMemory::buffer<float> values(20'000);
            all_reduce<Fused>(link, std::span(values.data(), values.size()));
        }));
    };
    live();
    const auto before = test::open_descriptors();
    for (int life = 0; life < 30; ++life) live();
    BOOST_TEST(test::open_descriptors() == before);
}

}  // namespace
