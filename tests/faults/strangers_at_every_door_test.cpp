// SPDX-License-Identifier: MIT
/// @file
/// B22: strangers on the ports of a job. A thousand of six kinds, half of them before the ranks join and half while they
/// train, at the doors of all ranks: the sums must be right, no memory lost, and no stranger be told a byte.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <latch>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/transport/sockets.hpp>
#include <lockstep/transport/sockets/local.hpp>

#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::detail;

enum class Kind { silent, slow, binary, http, tls, older_job };
constexpr int kinds = 6;

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> words_of(Kind kind, Random& random) {
    switch (kind) {
        case Kind::silent: return {};
        case Kind::slow: return bytes_of("LKST\1\1");  // and the rest never comes
        case Kind::binary: {
            std::vector<std::byte> bytes(1 + random() % 2000);
            for (std::byte& each : bytes) each = static_cast<std::byte>(random());
            return bytes;
        }
        case Kind::http: return bytes_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        case Kind::tls: return bytes_of(std::string_view("\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\x03random", 17));
        case Kind::older_job: break;
    }
    // It knows the words, and asks for an answer.
    auto bytes = encode(Hello{1 + static_cast<int>(random() % 3), 4, random() % 2 == 0 ? Role::control : Role::data, 41,
                              "127.0.0.1:1"});
    const auto challenge = control_frame(FrameKind::challenge, random_challenge());
    bytes.insert(bytes.end(), challenge.begin(), challenge.end());
    return bytes;
}

/// Strangers that have said what they say; some hang up at once, some with a reset.
class Strangers {
public:
    void come(const std::vector<SocketAddress>& doors, int count) {
        for (int index = 0; index < count; ++index) {
            int error = 0;
            Descriptor stranger = try_connect(doors[random_() % doors.size()], 0, Deadline::after(Seconds{20}), error);
            test::expect(bool(stranger), std::string("a stranger cannot connect: ") + std::strerror(error));
            const auto words = words_of(static_cast<Kind>(index % kinds), random_);
            write_all<SystemCalls>(stranger.get(), words, Deadline::after(Seconds{20}));
            const auto end = random_() % 4;
            const linger reset{1, 0};
            if (end == 0) ::setsockopt(stranger.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            if (end <= 1) stranger.reset();
            else present_.push_back(std::move(stranger));
        }
    }
    /// How many have been told something: anything but silence and the end.
    std::size_t told() const {
        std::size_t count = 0;
        for (const Descriptor& each : present_) {
            std::byte byte;
            if (::recv(each.get(), &byte, 1, MSG_DONTWAIT) > 0) ++count;
        }
        return count;
    }

private:
    Random random_{22};
    std::vector<Descriptor> present_;
};

/// Where this process listens.
std::vector<SocketAddress> doors() {
    std::vector<SocketAddress> found;
    for (int descriptor = 3; descriptor < 1000; ++descriptor) {
        int listens = 0;
        socklen_t size = sizeof listens;
        if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0) {
            found.push_back(local_address(descriptor));
        }
    }
    return found;
}

/// In KiB, of this process.
long resident() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        long size = 0;
        if (word == "VmRSS:" && status >> size) return size;
    }
    return 0;
}

constexpr bool sanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#elif defined(__has_feature)
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    false;
#endif

void train_among_strangers(bool secret) {
    constexpr int world = 4;
    LocalMeeting meeting(world, LocalSockets::tcp);
    std::vector<SocketsOptions> options;
    for (int rank = 0; rank < world; ++rank) {
        options.push_back(meeting.options(rank));
        options.back().job = 42;
        if (!secret) options.back().secret.clear();
    }
    Strangers strangers;
    strangers.come(doors(), 500);

    std::latch met(world + 1);
    std::atomic<bool> over{false};
    std::vector<std::int64_t> parameters(world);
    std::vector<std::int64_t> steps(world);
    std::vector<test::Outcome> outcomes;
    std::thread ranks([&] {
        outcomes = test::on_ranks(world, [&](int rank) {
            Sockets link(options[static_cast<std::size_t>(rank)]);
            std::vector<std::int64_t> gradient(1000);
            met.count_down();
            for (bool last = false; !last;) {
                // Rank 0 says when: then every other entry is one more.
                const bool stop = rank == 0 && over.load();
                for (std::size_t index = 0; index < gradient.size(); ++index) {
                    gradient[index] = rank + 1 + (stop && index % 2 == 1 ? 1 : 0);
                }
                all_reduce<Ring>(link, std::span(gradient));
                last = gradient[1] != gradient[0];
                for (std::size_t index = 0; index < gradient.size(); ++index) {
                    test::expect(gradient[index] == 10 + (last && index % 2 == 1 ? 1 : 0), "a wrong sum");
                }
                parameters[static_cast<std::size_t>(rank)] += gradient[0];
                ++steps[static_cast<std::size_t>(rank)];
            }
        });
    });
    met.arrive_and_wait();
    const long before = resident();
    const auto all_doors = doors();
    test::Outcome visit = test::outcome_of([&] { strangers.come(all_doors, 500); });
    const long after = resident();
    over.store(true);
    ranks.join();

    BOOST_TEST(!visit.threw, visit.message);
    BOOST_TEST(all_doors.size() == static_cast<std::size_t>(world));
    test::check_all_well(outcomes);
    for (int rank = 0; rank < world; ++rank) {
        BOOST_TEST(parameters[static_cast<std::size_t>(rank)] == 10 * steps[0]);
    }
    BOOST_TEST(strangers.told() == 0U);
    BOOST_TEST_MESSAGE(steps[0] << " steps among strangers, memory grew by " << after - before << " KiB");
    if (!sanitized) BOOST_TEST(after - before < 16 * 1024);
}

BOOST_AUTO_TEST_CASE(a_job_with_a_secret_trains_among_a_thousand_strangers) { train_among_strangers(true); }
BOOST_AUTO_TEST_CASE(a_job_without_one_too) { train_among_strangers(false); }

BOOST_AUTO_TEST_CASE(on_the_loopback_address_nothing_listens_beyond_it) {
    LocalMeeting meeting(1 + 2, LocalSockets::tcp);
    std::vector<SocketsOptions> options;
    for (int rank = 0; rank < 3; ++rank) options.push_back(meeting.options(rank));
    std::latch met(3);
    std::latch seen(1);
    std::vector<SocketAddress> listening;
    test::check_all_well(test::on_ranks(3, [&](int rank) {
        Sockets link(options[static_cast<std::size_t>(rank)]);
        met.arrive_and_wait();
        if (rank == 0) {
            listening = doors();
            seen.count_down();
        }
        seen.wait();
    }));
    BOOST_TEST(listening.size() == 3U);
    for (const SocketAddress& each : listening) BOOST_TEST(is_loopback(each), to_text(each));
}

}  // namespace
