// SPDX-License-Identifier: MIT
/// @file
/// Reducer Auto<Candidates...>: picks a topology for each message size, by predicted time.
/// Idea: a short calibration measures what a message, a byte and an addition cost on this transport; the simulator then
///       says how long each candidate's schedule takes for this world size and length. All ranks use the slowest rank's
///       figures, so all pick the same.
/// Cost: some milliseconds once, and one simulation of each candidate for each new power of two of bytes.
/// Choose it when: sizes or machines vary, or you do not want to choose. `table()` shows why it picks what it picks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/barrier.hpp>
#include <lockstep/core/arithmetic.hpp>
#include <lockstep/topology/simulate.hpp>
#include <lockstep/topology/tree.hpp>

namespace lockstep {

/// Measures a transport: between ranks 0 and 1 alone, and between neighbours in a ring, all at the same time.
/// The same figures on all ranks. Takes some tens of milliseconds.
template <Transport Link>
LinkModel calibrate(Link& link) {
    constexpr std::size_t bytes = std::size_t{128} << 10;
    const int world_size = link.world_size();
    if (world_size == 1) return {};
    const StandardArithmetic mode;  // All ranks must compute the same figures from what they have agreed upon.
    std::vector<float> out(bytes / sizeof(float), 1.0F);
    std::vector<float> in(out.size());
    const Request request{.operation = Operation::all_reduce,
                          .reduction = Reduction::sum,
                          .type = ElementType::float32,
                          .topology = short_name("measure"),
                          .elements = out.size()};
    Call call = link.begin(request);
    const auto send_and_receive = [&](int to, int from, std::size_t size) {
        link.exchange(call, {to, std::as_bytes(std::span(out)).first(size)},
                      {from, std::as_writable_bytes(std::span(in)).first(size)});
    };
    const auto median_of = [](int rounds, const auto& work) {
        std::vector<double> seconds;
        for (int round = 0; round < rounds; ++round) {
            const auto start = std::chrono::steady_clock::now();
            work();
            seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
        return seconds[static_cast<std::size_t>(rounds / 2)];
    };
    const int rank = link.rank();
    const auto there_and_back = [&](std::size_t size) {
        if (rank > 1) return 0.0;
        const int peer = 1 - rank;
        return median_of(size == 0 ? 100 : 20,
                         [&] {
                             if (rank == 0) send_and_receive(peer, -1, size);
                             send_and_receive(-1, peer, size);
                             if (rank == 1) send_and_receive(peer, -1, size);
                         }) /
               2;
    };
    const auto both_ways = [&](std::size_t size) {
        if (rank > 1) return 0.0;
        return median_of(size == 0 ? 100 : 20, [&] { send_and_receive(1 - rank, 1 - rank, size); });
    };
    const auto all_around = [&](std::size_t size) {
        // Means: ranks that share processors get through many messages in a row, then none for long.
        const int left = (rank + world_size - 1) % world_size;
        const int rounds = size == 0 ? 50 : 10;
        std::array<double, 5> means{};
        for (double& mean : means) {
            barrier(link);
            call = link.begin(request);
            mean = median_of(1, [&] {
                for (int round = 0; round < rounds; ++round) send_and_receive((rank + 1) % world_size, left, size);
            });
        }
        std::nth_element(means.begin(), means.begin() + 2, means.end());
        return means[2] / rounds;
    };
    std::array<double, 7> seconds{there_and_back(0),
                                  there_and_back(bytes),
                                  both_ways(0),
                                  both_ways(bytes),
                                  all_around(0),
                                  all_around(bytes),
                                  (std::numeric_limits<double>::max)()};
    for (int round = 0; round < 10; ++round) {
        const double once = median_of(1, [&] {
            combine_of<Sum, float>()(reinterpret_cast<std::byte*>(in.data()),
                                     reinterpret_cast<const std::byte*>(out.data()), bytes);
        });
        seconds[6] = (std::min)(seconds[6], once);
    }
    all_reduce<Tree>(link, std::span<double>(seconds), Max{});

    const auto per_byte = [](double more, double less) { return more > less ? (more - less) / bytes : 0.0; };
    LinkModel model;
    model.seconds_per_byte = per_byte(seconds[1], seconds[0]);
    model.seconds_per_byte_copied = per_byte(seconds[3], seconds[2]) / 2;
    model.seconds_per_byte_combined = seconds[6] / bytes;
    // Of an empty message's time, half is taken for work, of sender and receiver alike, and half for the way.
    const double message = (std::max)(seconds[0], seconds[2]);
    model.overhead = message / 4;
    // As many ranks can work at once as get through what all of them do in the time that it takes them.
    const double around = per_byte(seconds[5], seconds[4]);
    const double at_once = around > 0 ? world_size * 2 * model.seconds_per_byte_copied / around : world_size;
    if (at_once < 0.75 * world_size) {
        model.at_once = (std::max)(at_once, 1.0);
        // Now a message costs what it takes to let another rank have the processor, too.
        model.overhead = seconds[4] * model.at_once / (2 * world_size);
    }
    model.latency = (std::max)(message - 2 * model.overhead, 0.0);
    return model;
}

/// One object serves one transport: it calibrates itself in its first call, on all ranks at once.
template <Topology... Candidates>
class Auto {
    static_assert(sizeof...(Candidates) > 0, "Auto needs topologies to choose from");

public:
    static constexpr const char* name = "auto";
    static constexpr bool serves_one_transport = true;

    Auto() = default;
    /// With figures that are known already: no calibration. The same on every rank.
    explicit Auto(const LinkModel& model) : model_(model), calibrated_(true) {}

    /// The names of the candidates.
    static std::vector<std::string> candidates() { return {names.begin(), names.end()}; }

    /// From now on the candidate of this name, whatever is predicted: without calibration. The same on every rank.
    /// @throws ConfigurationError if no candidate has it
    void use(std::string_view candidate) {
        for (std::size_t index = 0; index < names.size(); ++index) {
            if (candidate != names[index]) continue;
            forced_ = static_cast<int>(index);
            return;
        }
        throw ConfigurationError("no candidate of Auto is called \"" + std::string(candidate) + "\"");
    }

    /// As Executor's; messages, bytes and order of addition are those of the candidate picked for this length.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link& link, std::span<Scalar> buffer, Operator operation = {}, Action&& owner_acts = {}) {
        with_picked(link, buffer.size_bytes(),
                    [&](auto& executor) { executor.all_reduce(link, buffer, operation, owner_acts); });
    }

    /// Executor's other members, likewise of the candidate picked for this length.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce_into(Link& link, std::span<Scalar> buffer, std::span<Scalar> results, Operator operation = {},
                         Action&& owner_acts = {}) {
        with_picked(link, buffer.size_bytes(),
                    [&](auto& executor) { executor.all_reduce_into(link, buffer, results, operation, owner_acts); });
    }
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void reduce(Link& link, std::span<Scalar> buffer, Operator operation = {}, Action&& owner_acts = {}) {
        with_picked(link, buffer.size_bytes(),
                    [&](auto& executor) { executor.reduce(link, buffer, operation, owner_acts); });
    }
    template <class Scalar, Transport Link>
    void distribute(Link& link, std::span<Scalar> buffer) {
        with_picked(link, buffer.size_bytes(), [&](auto& executor) { executor.distribute(link, buffer); });
    }
    template <class Scalar, Transport Link>
    std::vector<Shard> owned(Link& link, std::span<Scalar> buffer) {
        std::vector<Shard> pieces;
        with_picked(link, buffer.size_bytes(), [&](auto& executor) { pieces = executor.owned(link, buffer); });
        return pieces;
    }
    template <class Scalar, Transport Link>
    std::vector<Shard> led(Link& link, std::span<Scalar> buffer) {
        std::vector<Shard> pieces;
        with_picked(link, buffer.size_bytes(), [&](auto& executor) { pieces = executor.led(link, buffer); });
        return pieces;
    }

    /// The name of the candidate for this many bytes.
    const char* choice(int world_size, std::size_t bytes) { return names[pick(world_size, bytes)]; }
    const LinkModel& model() const noexcept { return model_; }

    /// Predicted microseconds of each candidate by bytes, the best marked.
    std::string table(int world_size) {
        char cell[48];
        std::string text = "     bytes";
        for (const char* const each : names) {
            std::snprintf(cell, sizeof cell, " %18s", each);
            text += cell;
        }
        for (std::size_t bytes = 1024; bytes <= (std::size_t{64} << 20); bytes *= 4) {
            std::snprintf(cell, sizeof cell, "\n%10zu", bytes);
            text += cell;
            const Row& row = predict(world_size, bytes);
            for (std::size_t index = 0; index < names.size(); ++index) {
                const bool best = index == pick(world_size, bytes);
                std::snprintf(cell, sizeof cell, " %16.1f%s", row.seconds[index] * 1e6, best ? " *" : "  ");
                text += cell;
            }
        }
        return text + "\n";
    }

private:
    static constexpr std::array<const char*, sizeof...(Candidates)> names{Candidates::name...};

    struct Row {
        int world_size;
        int magnitude;  ///< bit width of the bytes
        std::array<double, sizeof...(Candidates)> seconds;
    };

    template <Transport Link, class Use>
    void with_picked(Link& link, std::size_t bytes, const Use& use) {
        if (!calibrated_ && forced_ < 0) {
            model_ = calibrate(link);
            calibrated_ = true;
        }
        const std::size_t picked = pick(link.world_size(), bytes);
        std::size_t index = 0;
        std::apply([&](auto&... executors) { ((index++ == picked ? use(executors) : void()), ...); }, executors_);
    }

    const Row& predict(int world_size, std::size_t bytes) {
        const StandardArithmetic mode;
        const auto magnitude = static_cast<int>(std::bit_width(bytes));
        for (const Row& row : rows_) {
            if (row.world_size == world_size && row.magnitude == magnitude) return row;
        }
        const std::size_t elements = magnitude < 3 ? 1 : (std::size_t{1} << (magnitude - 1)) / sizeof(float);
        rows_.push_back(
            {world_size, magnitude, {simulate<Candidates>(world_size, elements, sizeof(float), model_).seconds...}});
        return rows_.back();
    }

    std::size_t pick(int world_size, std::size_t bytes) {
        if (forced_ >= 0) return static_cast<std::size_t>(forced_);
        const Row& row = predict(world_size, bytes);
        std::size_t best = 0;
        for (std::size_t index = 1; index < row.seconds.size(); ++index) {
            if (row.seconds[index] < row.seconds[best]) best = index;
        }
        return best;
    }

    LinkModel model_;
    bool calibrated_ = false;
    int forced_ = -1;
    std::vector<Row> rows_;
    std::tuple<Executor<Candidates>...> executors_;
};

}  // namespace lockstep
