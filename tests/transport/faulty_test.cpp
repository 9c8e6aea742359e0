// SPDX-License-Identifier: MIT
/// @file
/// Every collective, over threads and sockets, with every fault.
#include <lockstep/transport/faulty.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/collectives/all_gather.hpp>
#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/collectives/reduce_scatter.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "support/conformance/transport.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

template <class Runner>
struct Faultless : Runner {
    using link_type = Faulty<typename Runner::link_type>;

    template <class Work>
    static std::vector<test::Outcome> run(int world, const Work& work, const test::Settings& settings = {}) {
        return Runner::run(
            world,
            [&](auto& link) {
                link_type faulty(link, {});
                work(faulty);
                test::expect(!faulty.struck(), "no fault");
            },
            settings);
    }
};
using Runners = boost::mpl::list<test::OverThreads, test::OverTcp>;

BOOST_AUTO_TEST_CASE_TEMPLATE(without_a_fault_it_is_the_transport_it_wraps, Runner, Runners) {
    test::check_carries<Faultless<Runner>>();
}

constexpr std::size_t length = 1001;
constexpr int root = 1;

/// What every rank brings is its rank plus one, everywhere; does it end with what it should?
template <class Link>
struct Collective {
    const char* name;
    std::function<bool(Link&, std::vector<std::int32_t>&)> run;
};

bool all_are(std::span<const std::int32_t> values, std::int32_t expected) {
    return std::all_of(values.begin(), values.end(), [&](std::int32_t value) { return value == expected; });
}

template <class Link>
std::vector<Collective<Link>> collectives() {
    using Values = std::vector<std::int32_t>;
    const auto total = [](Link& link) { return link.world_size() * (link.world_size() + 1) / 2; };
    return {
        {"all_reduce over a ring",
         [=](Link& link, Values& values) {
             all_reduce<Ring>(link, std::span(values));
             return all_are(values, total(link));
         }},
        {"all_reduce over a tree",
         [=](Link& link, Values& values) {
             all_reduce<Tree>(link, std::span(values));
             return all_are(values, total(link));
         }},
        {"reduce_scatter",
         [=](Link& link, Values& values) {
             const std::span<const std::int32_t> own = reduce_scatter<Ring>(link, std::span(values));
             return !own.empty() && all_are(own, total(link));
         }},
        {"all_gather",
         [](Link& link, Values& values) {
             all_gather<Ring>(link, std::span(values));
             for (int rank = 0; rank < link.world_size(); ++rank) {
                 const Shard shard = shard_of(values.size(), rank, link.world_size());
                 if (!all_are(std::span(values).subspan(shard.begin, shard.size), rank + 1)) return false;
             }
             return true;
         }},
        {"broadcast",
         [](Link& link, Values& values) {
             broadcast(link, std::span(values), root);
             return all_are(values, root + 1);
         }},
        {"reduce_to",
         [=](Link& link, Values& values) {
             reduce_to(link, std::span(values), 0);
             return link.rank() != 0 || all_are(values, total(link));
         }},
        {"barrier",
         [](Link& link, Values&) {
             barrier(link);
             return true;
         }},
    };
}

struct Ends {
    std::vector<test::Outcome> outcomes;
    int wrong = 0;   ///< ranks whose result was not what it should be
    int struck = 0;  ///< ranks at which the fault has happened
};

/// The collective, then a barrier, at which also those learn of a failure that have only sent.
template <class Runner, class Run>
Ends ends_with(const Run& collective, int world, int victim, const FaultPlan& plan, Seconds timeout = Seconds{20}) {
    Ends ends;
    std::vector<int> wrong(static_cast<std::size_t>(world));
    std::vector<int> struck(wrong.size());
    ends.outcomes = Runner::run(
        world,
        [&](auto& plain) {
            Faulty link(plain, plain.rank() == victim ? plan : FaultPlan{});
            const auto rank = static_cast<std::size_t>(link.rank());
            std::vector<std::int32_t> values(length, link.rank() + 1);
            const auto outcome = test::outcome_of([&] {
                wrong[rank] = collective.run(link, values) ? 0 : 1;
                barrier(link);
            });
            struck[rank] = link.struck() ? 1 : 0;
            if (outcome.threw && !outcome.is_error) throw std::runtime_error(outcome.message);
            if (outcome.threw) raise({outcome.kind, outcome.rank, outcome.message});
        },
        timeout);
    for (const int each : wrong) ends.wrong += each;
    for (const int each : struck) ends.struck += each;
    return ends;
}

template <class Runner, class Check>
void for_each_collective(const Check& check) {
    for (const auto& collective : collectives<Faulty<typename Runner::link_type>>()) {
        BOOST_TEST_CONTEXT(collective.name) check(collective);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_rank_that_throws_ends_all_with_its_words, Runner, Runners) {
    for_each_collective<Runner>([](const auto& collective) {
        for (const int world : {2, 3, 5}) {
            for (const int victim : {0, world - 1}) {
                const Ends ends = ends_with<Runner>(collective, world, victim, {.fault = Fault::raise});
                BOOST_TEST(ends.struck == 1);
                for (int rank = 0; rank < world; ++rank) {
                    const auto& outcome = ends.outcomes[static_cast<std::size_t>(rank)];
                    BOOST_TEST(outcome.message.find("planned for exchange 0") != std::string::npos, outcome.message);
                    BOOST_TEST(outcome.is_error == (rank != victim));
                    if (rank != victim) BOOST_TEST(outcome.rank == victim);
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_cut_short_is_an_error_on_all, Runner, Runners) {
    for_each_collective<Runner>([](const auto& collective) {
        for (const int world : {2, 3, 5}) {
            for (std::uint64_t seed = 0; seed < 5; ++seed) {
                const Ends ends =
                    ends_with<Runner>(collective, world, 1, {.fault = Fault::truncate, .at = seed % 2, .seed = seed});
                if (ends.struck == 0) test::check_all_well(ends.outcomes);  // It sent nothing that could be cut.
                else test::check_all_threw(ends.outcomes, "ranks disagree: rank ");
            }
        }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_that_is_lost_is_an_error_on_all_in_time, Runner, Runners) {
    for_each_collective<Runner>([](const auto& collective) {
        const Ends ends = ends_with<Runner>(collective, 3, 1, {.fault = Fault::drop}, Seconds{0.2});
        BOOST_TEST(ends.struck == 1);
        for (const auto& outcome : ends.outcomes) BOOST_TEST(outcome.is_error, outcome.message);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_that_comes_late_is_no_error, Runner, Runners) {
    for_each_collective<Runner>([](const auto& collective) {
        for (const int victim : {0, 1, 2}) {
            const Ends ends = ends_with<Runner>(collective, 3, victim, {.fault = Fault::delay});
            test::check_all_well(ends.outcomes);
            BOOST_TEST(ends.struck == 1);
            BOOST_TEST(ends.wrong == 0);
        }
    });
}

/// Nothing here looks at what is carried: that one flipped bit makes a wrong number shows that these tests would see one.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_bit_that_flips_is_a_wrong_number, Runner, Runners) {
    for_each_collective<Runner>([](const auto& collective) {
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            const Ends ends = ends_with<Runner>(collective, 3, 1, {.fault = Fault::corrupt, .seed = seed});
            test::check_all_well(ends.outcomes);
            BOOST_TEST((ends.wrong > 0) == (ends.struck == 1));
            BOOST_TEST((ends.struck == 1) == (std::string(collective.name) != "barrier"));
        }
    });
}

BOOST_AUTO_TEST_CASE(a_fault_is_the_same_for_the_same_seed) {
    const auto result = [](std::uint64_t seed) {
        std::vector<std::int32_t> values(length, 1);
        test::OverThreads::run(2, [&](Threads& plain) {
            Faulty link(plain, plain.rank() == 1 ? FaultPlan{.fault = Fault::corrupt, .seed = seed} : FaultPlan{});
            std::vector<std::int32_t> own(length, 1);
            all_reduce<Tree>(link, std::span(own));
            if (link.rank() == 0) values = own;
        });
        return values;
    };
    BOOST_TEST((result(3) == result(3)));
    BOOST_TEST((result(3) != result(4)));
}

}  // namespace
