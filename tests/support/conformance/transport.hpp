// SPDX-License-Identifier: MIT
/// @file
/// The laws of a Transport, over a runner of worlds such as test::OverThreads: a new transport's test calls
/// check_carries and check_fails_together.
#pragma once

#include <atomic>
#include <cstddef>
#include <latch>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/concepts.hpp>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"
#include "support/world.hpp"

namespace test {

// ---- What goes well -----------------------------------------------------------------------------------------

template <class Runner>
void check_ranks() {
    for (const int world : worlds) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(world));
        check_all_well(Runner::run(world, [&](auto& link) {
            expect(link.world_size() == world, "world size");
            expect(link.rank() >= 0 && link.rank() < world, "rank");
            ++seen[static_cast<std::size_t>(link.rank())];
            // A copy is the same rank: it numbers on where the other has stopped.
            auto copy = link;
            expect(copy.rank() == link.rank() && copy.world_size() == world, "a copy is the same rank");
            const auto sequence = link.begin({}).sequence;
            expect(copy.begin({}).sequence == sequence + 1 && link.begin({}).sequence == sequence + 2, "one numbering");
        }));
        for (const auto& times : seen) BOOST_TEST(times.load() == 1);
    }
}

/// Both directions at once between pairs, and along the ring.
template <class Runner>
void check_exchange(std::span<const std::size_t> sizes = message_sizes) {
    for (const int world : worlds) {
        check_all_well(Runner::run(world, [&](auto& link) {
            std::size_t number = 0;
            for (const std::size_t size : sizes) {
                const lockstep::Call call = link.begin(bytes_request(size));
                const int partner = link.rank() ^ 1;
                if (partner < world) exchange_message(link, call, partner, partner, number, size);
                if (world > 1) exchange_message(link, call, right_of(link), left_of(link), number + 1, size);
                number += 2;
            }
        }));
    }
}

template <class Runner>
void check_combine(std::size_t elements = 100'003) {
    using lockstep::Combine;
    const Combine add = lockstep::combine_of<lockstep::Sum, float>();
    const lockstep::Request request{lockstep::Operation::all_reduce, lockstep::Reduction::sum,
                                    lockstep::ElementType::float32,  0,
                                    lockstep::short_name("test"),    elements};
    for (const int world : worlds) {
        check_all_well(Runner::run(world, [&](auto& link) {
            // Every element of rank r is r + 1 times its index, modulo 1000 so that sums are exact.
            const auto value = [](int factor, std::size_t index) {
                return static_cast<float>(factor) * static_cast<float>(index % 1000);
            };
            std::vector<float> own(elements);
            for (std::size_t index = 0; index < elements; ++index) own[index] = value(link.rank() + 1, index);
            const auto check = [&](const std::vector<float>& sums, int factor) {
                std::size_t index = 0;
                while (index < elements && sums[index] == value(factor, index)) ++index;
                expect(index == elements, "element " + std::to_string(index));
            };
            const lockstep::Call call = link.begin(request);
            const auto add_from = [&](int to, int from) {
                std::vector<float> sums = own;
                link.exchange(call, {to, std::as_bytes(std::span(own))},
                              {from, std::as_writable_bytes(std::span(sums)), add});
                check(sums, link.rank() + 1 + from + 1);
            };
            const int partner = link.rank() ^ 1;
            if (partner < world) add_from(partner, partner);
            if (world > 1) add_from(right_of(link), left_of(link));

            // In one direction only: sums of all ranks so far, handed on.
            const int rank = link.rank();
            if (rank > 0) link.exchange(call, {}, {rank - 1, std::as_writable_bytes(std::span(own)), add});
            if (rank + 1 < world) link.exchange(call, {rank + 1, std::as_bytes(std::span(own))}, {});
            check(own, (rank + 1) * (rank + 2) / 2);
        }));
    }
}

/// Messages of a pair arrive in the order in which they were sent, whatever goes to others between them.
template <class Runner>
void check_order() {
    check_all_well(Runner::run(3, [&](auto& link) {
        const lockstep::Call call = link.begin(bytes_request(50));
        for (std::size_t number = 0; number < 100; ++number) {
            const std::size_t size = number * 13 % 50;
            if (link.rank() == 0) {
                exchange_message(link, call, 1, -1, number, size);
                exchange_message(link, call, 2, number % 2 == 0 ? 1 : -1, number, size);
            } else {
                exchange_message(link, call, -1, 0, number, size);
                if (link.rank() == 1 && number % 2 == 0) exchange_message(link, call, 0, -1, number, size);
            }
        }
    }));
}

template <class Runner>
void check_traffic() {
    check_all_well(Runner::run(3, [&](auto& link) {
        expect(link.traffic() == lockstep::Traffic{}, "nothing sent yet");
        const lockstep::Call call = link.begin(bytes_request(0));
        for (const std::size_t size : {0U, 5U, 4097U}) {
            exchange_message(link, call, right_of(link), left_of(link), 0, size);
        }
        expect(link.traffic() == lockstep::Traffic{3, 4102}, "three messages");
        // What is only received does not count.
        if (link.rank() == 1) exchange_message(link, call, -1, 0, 1, 10);
        expect(link.traffic() == lockstep::Traffic{3, 4102}, "a message received");
        if (link.rank() == 0) exchange_message(link, call, 1, -1, 1, 10);
        const auto copy = link;
        expect(copy.traffic() == (link.rank() == 0 ? lockstep::Traffic{4, 4112} : lockstep::Traffic{3, 4102}),
               "a copy");
    }));
}

/// A rank that has left disturbs nobody who does not wait for it.
template <class Runner>
void check_leaving() {
    for (int leaver = 0; leaver < 3; ++leaver) {
        check_all_well(Runner::run(3, [&](auto& link) {
            if (link.rank() == leaver) return;
            const int other = 3 - leaver - link.rank();
            for (std::size_t number = 0; number < 100; ++number) {
                exchange_message(link, link.begin(bytes_request(100)), other, other, number, 100);
            }
        }));
    }
}

template <class Runner>
void check_carries() {
    static_assert(lockstep::Transport<typename Runner::link_type>);
    check_ranks<Runner>();
    check_exchange<Runner>();
    check_combine<Runner>();
    check_order<Runner>();
    check_traffic<Runner>();
    check_leaving<Runner>();
}

// ---- What goes wrong ----------------------------------------------------------------------------------------

/// Rank 0 is in another call than the rest: all are told, and both sides are named.
template <class Runner>
void check_disagreement(const lockstep::Request& odd, const lockstep::Request& even, int begun_before,
                        lockstep::ErrorKind kind, const std::string& odd_text, const std::string& even_text) {
    for (const int world : {2, 3}) {
        const auto outcomes = Runner::run(world, [&](auto& link) {
            const lockstep::Request& own = link.rank() == 0 ? odd : even;
            for (int call = 0; link.rank() == 0 && call < begun_before; ++call) link.begin(own);
            const lockstep::Call call = link.begin(own);
            const auto size = static_cast<std::size_t>(own.elements) * lockstep::size_of(own.type);
            expect(outcome_of([&] { go_round(link, call, size); }).threw, "ranks that disagree go on");
            // Also for those who would not pass the exception on.
            link.begin(own);
        });
        for (const Outcome& outcome : outcomes) {
            check_error(outcome, kind, {"ranks disagree", "rank 0 ", odd_text, even_text});
        }
    }
}

template <class Runner>
void check_disagreements() {
    using lockstep::ErrorKind;
    const lockstep::Request plain{.operation = lockstep::Operation::all_reduce,
                                  .reduction = lockstep::Reduction::sum,
                                  .type = lockstep::ElementType::float32,
                                  .topology = lockstep::short_name("ring"),
                                  .elements = 200};
    const std::string plain_text = "all_reduce #0 (sum of 200 float32, 800 bytes, ring)";
    const auto check = [&](lockstep::Request odd, ErrorKind kind, const std::string& text, int begun_before = 0) {
        check_disagreement<Runner>(odd, plain, begun_before, kind, text, plain_text);
    };
    lockstep::Request odd = plain;
    odd.elements = 100;
    check(odd, ErrorKind::shape, "all_reduce #0 (sum of 100 float32, 400 bytes, ring)");
    odd.elements = 199;
    check(odd, ErrorKind::shape, "all_reduce #0 (sum of 199 float32, 796 bytes, ring)");
    odd = plain;
    odd.type = lockstep::ElementType::int32;  // as long, but something else
    check(odd, ErrorKind::transport, "all_reduce #0 (sum of 200 int32, 800 bytes, ring)");
    odd = plain;
    odd.operation = lockstep::Operation::reduce;
    check(odd, ErrorKind::transport, "reduce #0 (sum of 200 float32, 800 bytes, ring)");
    odd = plain;
    odd.topology = lockstep::short_name("tree");
    check(odd, ErrorKind::transport, "all_reduce #0 (sum of 200 float32, 800 bytes, tree)");
    check(plain, ErrorKind::transport, "all_reduce #2 (sum of 200 float32, 800 bytes, ring)", 2);
}

/// Ranks that wait for one that has left are told who it is.
template <class Runner>
void check_loss() {
    for (const auto& [world, leaver] : {std::pair{2, 0}, {2, 1}, {3, 0}, {3, 1}}) {
        const auto outcomes = Runner::run(world, [&, gone = leaver](auto& link) {
            const lockstep::Call call = link.begin(bytes_request(8));
            if (link.rank() != gone) exchange_message(link, call, gone, gone, 0, 8);
        });
        for (int rank = 0; rank < world; ++rank) {
            const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
            if (rank == leaver) {
                BOOST_TEST(!outcome.threw, outcome.message);
                continue;
            }
            check_error(outcome, lockstep::ErrorKind::peer_lost, {"rank " + std::to_string(leaver)});
            BOOST_TEST(outcome.rank == leaver);
        }
    }
}

/// Ranks that wait for one that is there but does not come are told who it is, after the timeout.
template <class Runner>
void check_silence() {
    for (const int silent : {0, 1}) {
        std::latch others(2);
        const auto outcomes = Runner::run(
            3,
            [&](auto& link) {
                if (link.rank() == silent) return others.wait();
                const struct CountDown {
                    std::latch& latch;
                    ~CountDown() { latch.count_down(); }
                } at_the_end{others};
                exchange_message(link, link.begin(bytes_request(8)), silent, silent, 0, 8);
            },
            lockstep::Seconds{0.2});
        for (int rank = 0; rank < 3; ++rank) {
            const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
            if (rank == silent) continue;
            check_error(outcome, lockstep::ErrorKind::timeout,
                        {"0.2 s", "for rank " + std::to_string(silent), "broadcast #0 (8 uint8, 8 bytes, test)"});
            BOOST_TEST(outcome.rank == silent);
        }
    }
}

/// `fail` ends the calls of all ranks with this failure, and every later call at once with the same one.
template <class Runner>
void check_failure(int world, int failing, lockstep::ErrorKind kind) {
    const std::string text = "rank " + std::to_string(failing) + ": bad row 7";
    const auto outcomes = Runner::run(world, [&](auto& link) {
        const lockstep::Call call = link.begin(bytes_request(8));
        const Outcome first = outcome_of([&] {
            if (link.rank() == failing) {
                link.fail({kind, failing, text});
                link.begin({});
            } else {
                go_round(link, call);
            }
        });
        const auto same = [&](const Outcome& later) {
            return later.is_error && later.kind == first.kind && later.message == first.message;
        };
        expect(same(outcome_of([&] { link.begin({}); })), "begin throws the same again");
        link.fail({lockstep::ErrorKind::format, link.rank(), "another failure"});
        expect(same(outcome_of([&] { link.begin({}); })), "the first failure stays");
        expect(same(outcome_of([&] { go_round(link, call); })), "calls under way throw it too");
        link.begin({});
    });
    for (const Outcome& outcome : outcomes) {
        check_error(outcome, kind, {});
        BOOST_TEST(outcome.message == text);
        BOOST_TEST(outcome.rank == failing);
    }
}

template <class Runner>
void check_failures() {
    for (int kind = 0; kind <= static_cast<int>(lockstep::ErrorKind::configuration); ++kind) {
        check_failure<Runner>(3, kind % 3, static_cast<lockstep::ErrorKind>(kind));
    }
    for (const int world : {1, 2, 5, 8}) {
        check_failure<Runner>(world, 0, lockstep::ErrorKind::shape);
        check_failure<Runner>(world, world - 1, lockstep::ErrorKind::shape);
    }
}

/// An exception of the user's code, thrown on one rank, ends the others' calls with its text.
template <class Runner>
void check_exception() {
    for (const int thrower : {0, 2}) {
        const auto outcomes = Runner::run(4, [&](auto& link) {
            const lockstep::Call call = link.begin(bytes_request(8));
            if (link.rank() == thrower) throw std::runtime_error("bad row 7");
            go_round(link, call);
        });
        const std::string text = "rank " + std::to_string(thrower) + ": bad row 7";
        for (int rank = 0; rank < 4; ++rank) {
            const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
            if (rank == thrower) {
                BOOST_TEST((outcome.threw && !outcome.is_error));
                BOOST_TEST(outcome.message == "bad row 7");
            } else {
                check_error(outcome, lockstep::ErrorKind::remote, {text});
                BOOST_TEST(outcome.rank == thrower);
            }
        }
    }
}

/// A slow rank is named once, before it is an error; it may still come.
template <class Runner>
void check_slowness() {
    struct Reports {
        static void take(const std::string& line) {
            lines().push_back(line);
            comes().count_down();
        }
        static std::vector<std::string>& lines() {
            static std::vector<std::string> taken;
            return taken;
        }
        static std::latch& comes() {
            static std::latch latch(1);
            return latch;
        }
    };
    Settings settings;
    settings.slow_after = lockstep::Seconds{0.05};
    settings.report = &Reports::take;
    check_all_well(Runner::run(
        2,
        [](auto& link) {
            const lockstep::Call call = link.begin(bytes_request(8));
            if (link.rank() == 1) Reports::comes().wait();
            exchange_message(link, call, 1 - link.rank(), 1 - link.rank(), 0, 8);
        },
        settings));
    BOOST_TEST(Reports::lines().size() == 1U);
    BOOST_TEST(Reports::lines().front() ==
               "rank 0 has waited 0.05 s for rank 1 in broadcast #0 (8 uint8, 8 bytes, test)");
}

/// Of two threads that use one rank's transport at once, one is told.
template <class Runner>
void check_two_threads() {
    std::latch told(1);
    std::vector<Outcome> ends(3);
    Runner::run(2, [&](auto& link) {
        const lockstep::Call call = link.begin(bytes_request(8));
        if (link.rank() == 1) {
            told.wait();
            ends[2] = outcome_of([&] { exchange_message(link, call, 0, -1, 0, 8); });
            return;
        }
        std::atomic<bool> first{true};
        const auto receive = [&](Outcome& end) {
            end = outcome_of([&] { exchange_message(link, call, -1, 1, 0, 8); });
            if (first.exchange(false)) told.count_down();
        };
        std::thread second([&] { receive(ends[0]); });
        receive(ends[1]);
        second.join();
    });
    BOOST_TEST((ends[0].threw || ends[1].threw));
    for (const Outcome& end : ends) {
        if (end.threw) {
            check_error(end, lockstep::ErrorKind::transport, {"two threads use the transport of rank 0 at once"});
        }
    }
}

/// `fail` ends the calls of all ranks when another thread calls it, too: one that watches something else, say.
template <class Runner>
void check_failure_by_a_watchdog() {
    const auto outcomes = Runner::run(2, [&](auto& link) {
        const lockstep::Call call = link.begin(bytes_request(8));
        if (link.rank() == 0) {
            // Rank 1 sends nothing, so this rank waits, before or after the watchdog barks.
            auto copy = link;
            std::thread watchdog([&] { copy.fail({lockstep::ErrorKind::format, 0, "the disk is full"}); });
            const auto outcome = outcome_of([&] { exchange_message(link, call, -1, 1, 0, 8); });
            watchdog.join();
            lockstep::raise({outcome.kind, outcome.rank, outcome.message});
        }
        exchange_message(link, call, -1, 0, 0, 8);
    });
    for (const Outcome& outcome : outcomes) check_error(outcome, lockstep::ErrorKind::format, {"the disk is full"});
}

template <class Runner>
void check_fails_together() {
    check_disagreements<Runner>();
    check_loss<Runner>();
    check_silence<Runner>();
    check_failures<Runner>();
    check_exception<Runner>();
    check_slowness<Runner>();
    check_two_threads<Runner>();
    check_failure_by_a_watchdog<Runner>();
}

}  // namespace test
