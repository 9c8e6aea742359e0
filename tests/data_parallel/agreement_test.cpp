// SPDX-License-Identifier: MIT
// Trial B08: models that differ although their total sizes agree.
#include <lockstep/data_parallel/agreement.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/transport/solo.hpp>

#include "support/conformance/reducer.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

/// A model of any description, whose numbers are somebody else's, so that they can be looked at afterwards.
template <class Scalar>
struct Described {
    using scalar_type = Scalar;
    std::span<Scalar> values;
    std::span<Scalar> slopes;
    Manifest what;

    std::span<Scalar> parameters() { return values; }
    std::span<Scalar> gradients() { return slopes; }
    Manifest manifest() const { return what; }
};

const Manifest usual{{"A", {2, 3}}, {"B", {3, 2}}};

/// How the ranks of a world of such models end; checks that no parameter has changed anywhere.
template <class Runner, class Describe>
std::vector<test::Outcome> construct(int world, const Describe& describe) {
    test::PerRank<bool> changed(world);
    const auto outcomes = Runner::run(
        world,
        [&](auto& link) {
            const Manifest manifest = describe(link.rank());
            // Every rank has other numbers: to copy any would show.
            std::vector<float> values(numel(manifest), static_cast<float>(link.rank() + 1));
            const std::vector<float> before = values;
            std::vector<float> slopes(values.size());
            struct Look {
                std::function<void()> look;
                ~Look() { look(); }
            } const look{[&] { changed[link.rank()] = values != before; }};
            DataParallel<Described<float>, Ring, std::remove_reference_t<decltype(link)>> replica{
                Described<float>{values, slopes, manifest}, link};
        },
        Seconds{5});
    BOOST_TEST(changed.all_are(false), "a parameter has changed");
    return outcomes;
}

void check_all_shape_errors(const std::vector<test::Outcome>& outcomes, const std::string& message) {
    for (const test::Outcome& outcome : outcomes) {
        BOOST_TEST(outcome.message == message);
        BOOST_TEST((outcome.is_error && outcome.kind == ErrorKind::shape));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_first_parameter_of_another_shape_is_named_on_all_ranks, Runner, test::Transports) {
    for (const int world : {2, 3, 5, 8}) {
        for (int odd = 1; odd < world; ++odd) {
            const auto outcomes = construct<Runner>(world, [&](int rank) {
                return rank == odd ? Manifest{{"B", {3, 2}}, {"A", {2, 3}}} : usual;
            });
            check_all_shape_errors(outcomes, "rank " + std::to_string(odd) +
                                                 " has another model than rank 0: parameter 0 is B (3, 2) float32, on "
                                                 "rank 0 A (2, 3) float32");
            for (const auto& outcome : outcomes) BOOST_TEST(outcome.rank == odd);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_parameter_more_or_less_is_named_on_all_ranks, Runner, test::Transports) {
    Manifest more = usual;
    more.push_back({"C", {1}});
    for (const int world : {2, 3}) {
        check_all_shape_errors(construct<Runner>(world, [&](int rank) { return rank == 1 ? more : usual; }),
                               "rank 1 has another model than rank 0: parameter 2 is C (1) float32, on rank 0 no such "
                               "parameter");
        check_all_shape_errors(construct<Runner>(world, [&](int rank) { return rank == 1 ? usual : more; }),
                               "rank 1 has another model than rank 0: parameter 2 is no such parameter, on rank 0 C "
                               "(1) float32");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(names_and_shapes_count_not_sizes_alone, Runner, test::Transports) {
    const auto differ = [](const Manifest& odd, const std::string& difference) {
        check_all_shape_errors(construct<Runner>(2, [&](int rank) { return rank == 1 ? odd : usual; }),
                               "rank 1 has another model than rank 0: " + difference);
    };
    differ({{"A", {2, 3}}, {"C", {3, 2}}}, "parameter 1 is C (3, 2) float32, on rank 0 B (3, 2) float32");
    differ({{"A", {2, 3}}, {"B", {6}}}, "parameter 1 is B (6) float32, on rank 0 B (3, 2) float32");
    differ({{"A", {3, 2}}, {"B", {3, 2}}}, "parameter 0 is A (3, 2) float32, on rank 0 A (2, 3) float32");
    differ({{"A", {12}}}, "parameter 0 is A (12) float32, on rank 0 A (2, 3) float32");
}

template <class Scalar, class Link>
void construct_of_type(Link& link, test::PerRank<bool>& changed) {
    std::vector<Scalar> values(12, static_cast<Scalar>(link.rank() + 1));
    std::vector<Scalar> slopes(12);
    const std::vector<Scalar> before = values;
    const auto outcome = test::outcome_of([&] {
        DataParallel<Described<Scalar>, Ring, Link> replica{Described<Scalar>{values, slopes, usual}, link};
    });
    changed[link.rank()] = values != before;
    if (outcome.threw) raise({outcome.kind, outcome.rank, outcome.message});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_scalar_type_is_named_on_all_ranks, Runner, test::Transports) {
    for (const int world : {2, 3}) {
        test::PerRank<bool> changed(world);
        const auto outcomes = Runner::run(
            world,
            [&](auto& link) {
                if (link.rank() == 1) construct_of_type<double>(link, changed);
                else construct_of_type<float>(link, changed);
            },
            Seconds{5});
        check_all_shape_errors(outcomes,
                               "rank 1 has another model than rank 0: parameter 0 is A (2, 3) float64, on rank 0 A "
                               "(2, 3) float32");
        BOOST_TEST(changed.all_are(false), "a parameter has changed");
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(when_several_ranks_differ_one_of_them_is_named, Runner, test::Transports) {
    const auto outcomes = construct<Runner>(5, [&](int rank) {
        return rank < 2 ? usual : Manifest{{"A", {2, 3}}, {std::string(1, static_cast<char>('a' + rank)), {3, 2}}};
    });
    test::check_all_threw(outcomes, " has another model than rank 0: parameter 1 is ");
    for (const auto& outcome : outcomes) BOOST_TEST((outcome.kind == ErrorKind::shape && outcome.rank >= 2));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_model_at_odds_with_itself_is_an_error_on_all_ranks, Runner, test::Transports) {
    const auto outcomes = Runner::run(3, [&](auto& link) {
        barrier(link);
        std::vector<float> values(12);
        std::vector<float> slopes(link.rank() == 2 ? 11 : 12);
        DataParallel<Described<float>, Ring, std::remove_reference_t<decltype(link)>> replica{
            Described<float>{values, slopes, usual}, link};
    });
    check_all_shape_errors(outcomes, "the model has 12 parameters, 11 gradients, and a manifest of 12");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(models_that_agree_get_rank_0s_numbers, Runner, test::Transports) {
    // One of very many parameters, one with empty parameters, one without any.
    Manifest deep;
    for (int layer = 0; layer < 3000; ++layer) deep.push_back({std::to_string(layer) + ".weight", {1}});
    const std::vector<Manifest> manifests{usual, deep, {{"a", {0, 5}}, {"b", {3}}, {"c", {1, 0, 2}}}, {}};
    for (const int world : test::worlds) {
        test::check_all_well(Runner::run(world, [&](auto& link) {
            for (const Manifest& manifest : manifests) {
                std::vector<float> values(numel(manifest), static_cast<float>(link.rank() + 1));
                std::vector<float> slopes(values.size());
                DataParallel<Described<float>, Ring, std::remove_reference_t<decltype(link)>> replica{
                    Described<float>{values, slopes, manifest}, link};
                test::expect(values == std::vector<float>(values.size(), 1.0F), "not rank 0's");
            }
        }));
    }
}

BOOST_AUTO_TEST_CASE(lines_are_found_by_number) {
    BOOST_TEST(detail::line_of("a (1)\nb (2)\n", 0) == "a (1)");
    BOOST_TEST(detail::line_of("a (1)\nb (2)\n", 1) == "b (2)");
    BOOST_TEST(detail::line_of("a (1)\nb (2)\n", 2) == "no such parameter");
    BOOST_TEST(detail::line_of("", 0) == "no such parameter");
    BOOST_TEST(detail::line_of("", 5) == "no such parameter");
}

}  // namespace
