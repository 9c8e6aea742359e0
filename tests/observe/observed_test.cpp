// SPDX-License-Identifier: MIT
#include <lockstep/observe/observed.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/collectives/fused.hpp>
#include <lockstep/core/stretch.hpp>
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include "support/conformance/transport.hpp"

namespace {

using namespace lockstep;

template <class Runner>
struct Watched {
    using link_type = Observed<typename Runner::link_type>;
    static constexpr const char* name = Runner::name;

    template <class Work>
    static std::vector<test::Outcome> run(int world_size, const Work& work, const test::Settings& settings = {}) {
        return Runner::run(
            world_size,
            [&](auto& link) {
                Timeline timeline;
                link_type observed(link, timeline);
                work(observed);
            },
            settings);
    }
};

BOOST_AUTO_TEST_CASE(carries_bytes_over_threads) { test::check_carries<Watched<test::OverThreads>>(); }
BOOST_AUTO_TEST_CASE(carries_bytes_over_tcp) { test::check_carries<Watched<test::OverTcp>>(); }
BOOST_AUTO_TEST_CASE(fails_together) { test::check_fails_together<Watched<test::OverThreads>>(); }

// Nobody watches: nothing is there, not even a member.
static_assert(!detail::Watches<Threads> && detail::Watches<Observed<Threads>>);
static_assert(std::is_empty_v<detail::Stretch<Threads>> && std::is_trivially_destructible_v<detail::Stretch<Threads>>);

std::size_t count(const std::vector<Event>& events, EventKind kind, const std::string& name = {}) {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&](const Event& event) {
        return event.kind == kind && (name.empty() || event.title() == name);
    }));
}

template <class Runner>
void check_notes_messages() {
    for (const int world : test::worlds) {
        test::check_all_well(Watched<Runner>::run(world, [&](auto& link) {
            std::vector<float> values(1000, 1.0F);
            const Traffic before = link.traffic();
            all_reduce<Ring>(link, std::span(values));
            all_reduce<Tree>(link, std::span(values));
            const auto events = link.timeline().events();
            std::uint64_t messages = 0;
            std::uint64_t bytes = 0;
            for (const Event& event : events) {
                test::expect(event.begin <= event.end, "time runs forward");
                if (event.kind != EventKind::exchange) continue;
                messages += event.to >= 0 ? 1 : 0;
                bytes += event.bytes;
                test::expect((event.received > 0) <= (event.from >= 0), "bytes come from somebody");
            }
            test::expect(messages == link.traffic().messages - before.messages, "messages");
            test::expect(bytes == link.traffic().bytes - before.bytes, "bytes");
            test::expect(count(events, EventKind::call) == 2, "calls");
            test::expect(world == 1 || count(events, EventKind::call, "all_reduce ring") == 1, "the ring's call");
            test::expect(world == 1 || count(events, EventKind::call, "all_reduce tree") == 1, "the tree's call");
            // A call lasts until its last exchange has ended.
            for (const Event& call : events) {
                if (call.kind != EventKind::call || world == 1) continue;
                test::expect(std::any_of(events.begin(), events.end(),
                                         [&](const Event& event) {
                                             return event.kind == EventKind::exchange && event.end == call.end;
                                         }),
                             "the end of a call");
                test::expect(call.bytes == 4000, "the size of a call");
            }
        }));
    }
}
BOOST_AUTO_TEST_CASE(notes_every_message_over_threads) { check_notes_messages<test::OverThreads>(); }
BOOST_AUTO_TEST_CASE(notes_every_message_over_tcp) { check_notes_messages<test::OverTcp>(); }

BOOST_AUTO_TEST_CASE(notes_for_whom_fused_waits) {
    test::check_all_well(Watched<test::OverThreads>::run(3, [](auto& link) {
        std::vector<float> values(1000, 1.0F);
        Fused{}.all_reduce(link, std::span(values));
        test::expect(values[7] == 3.0F, "sum");
        std::array<int, 3> waits{};
        for (const Event& event : link.timeline().events()) {
            if (event.kind == EventKind::wait) ++waits[static_cast<std::size_t>(event.from)];
        }
        for (int peer = 0; peer < 3; ++peer) {
            test::expect((waits[static_cast<std::size_t>(peer)] > 0) == (peer != link.rank()), "waits for the others");
        }
    }));
}

using Net = Network<Sequential<Linear<20, 30>, Tanh, Linear<30, 5>>, CrossEntropy>;

template <class Strategy, class Link>
std::vector<float> trained(Link& link, const DataParallelOptions& options) {
    DataParallel<Net, Strategy, Link> replica{Net{3}, link, options};
    Sgd sgd({.learning_rate = 0.1, .momentum = 0.9});
    std::vector<float> inputs(7 * 20);
    for (std::size_t at = 0; at < inputs.size(); ++at) inputs[at] = static_cast<float>(at * 37 % 101) / 50 - 1;
    const std::vector<std::int32_t> labels{0, 1, 2, 3, 4, 0, 1};
    for (int step = 0; step < 4; ++step) {
        replica.backward(Net::batch_type{MatrixView<const float>(inputs.data(), 7, 20), labels});
        replica.step(sgd);
    }
    const auto values = replica.model().parameters();
    return {values.begin(), values.end()};
}

template <class Strategy>
void check_notes_steps(Overlap overlap, std::size_t buckets) {
    const DataParallelOptions options{overlap, 1024};
    std::vector<float> expected;
    test::check_all_well(test::OverThreads::run(3, [&](auto& link) {
        const auto values = trained<Strategy>(link, options);
        if (link.rank() == 0) expected = values;
    }));
    test::check_all_well(Watched<test::OverThreads>::run(3, [&](auto& link) {
        test::expect(trained<Strategy>(link, options) == expected, "the bits of a link that nobody watches");
        const auto events = link.timeline().events();
        for (const char* const phase : {"forward", "backward", "step", "reduce sums"}) {
            test::expect(count(events, EventKind::phase, phase) == 4, phase);
        }
        test::expect(count(events, EventKind::phase, "reduce bucket") == 4 * buckets,
                     std::to_string(count(events, EventKind::phase, "reduce bucket")) + " buckets");
        const bool beside = overlap == Overlap::per_bucket_by_thread;
        for (const Event& event : events) {
            if (event.kind != EventKind::phase) continue;
            test::expect((event.lane == 1) == (beside && event.title().starts_with("reduce")), "lanes");
        }
    }));
}
// 785 parameters: 3140 bytes.
BOOST_AUTO_TEST_CASE(notes_steps) {
    check_notes_steps<Ring>(Overlap::none, 1);
    check_notes_steps<Fused>(Overlap::none, 1);
    check_notes_steps<Ring>(Overlap::per_bucket, 4);
    check_notes_steps<Fused>(Overlap::per_bucket_by_thread, 4);
}

/// A model that says nothing of its forward pass.
struct Line {
    using scalar_type = float;
    std::array<float, 1> slope{};
    std::array<float, 1> gradient{};
    struct Rows {
        std::size_t count = 0;
        std::size_t rows() const { return count; }
        Rows slice(Shard shard) const { return {shard.size}; }
    };
    std::span<float> parameters() { return slope; }
    std::span<float> gradients() { return gradient; }
    Manifest manifest() const { return {{"slope", {1}}}; }
    LossSum backward(const Rows& rows) {
        gradient[0] += static_cast<float>(rows.count);
        return {.sum = 1, .weight = static_cast<double>(rows.count)};
    }
};

BOOST_AUTO_TEST_CASE(a_model_without_context_has_one_phase) {
    test::check_all_well(Watched<test::OverThreads>::run(2, [](auto& link) {
        DataParallel<Line, Ring, std::remove_reference_t<decltype(link)>> replica{Line{}, link};
        Adam adam({.learning_rate = 0.1});
        replica.backward(Line::Rows{5});
        replica.accumulate(Line::Rows{5});
        replica.average_and_step(adam);
        const auto events = link.timeline().events();
        test::expect(count(events, EventKind::phase, "forward and backward") == 2, "passes");
        test::expect(count(events, EventKind::phase, "forward") == 0, "no forward");
        test::expect(count(events, EventKind::phase, "average and step") == 1, "a sharded step");
    }));
}

}  // namespace
