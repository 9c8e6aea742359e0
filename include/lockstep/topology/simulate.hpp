// SPDX-License-Identifier: MIT
/// @file
/// The time that an all-reduce will take, predicted from its schedule: thousands of ranks in one thread, no clock, no
/// random numbers, the same answer every time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/schedule.hpp>

namespace lockstep {

/// What a message costs: LogGP, which without `overhead` is Hockney's latency and bandwidth, the cost of adding, and what
/// matters where processors carry the bytes: copies, and how many ranks can work at the same moment. `calibrate` in
/// collectives/auto.hpp measures all of it.
/// Source: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA 1995.
struct LinkModel {
    double latency = 0;                    ///< seconds on the way, of every message (L)
    double seconds_per_byte = 0;           ///< through a rank's link, each way at once (G)
    double seconds_per_byte_combined = 0;  ///< of adding what has arrived
    double overhead = 0;                   ///< seconds of work for each message, at the sender and at the receiver (o)
    double seconds_per_byte_copied = 0;    ///< of a rank's work on what it sends, and again on what it receives
    double at_once = 0;                    ///< ranks that can work at the same moment; 0: all of them
    int slow_rank = -1;                    ///< its work, its link and its additions take `slowdown` times as long
    double slowdown = 1;
};

struct Prediction {
    double seconds = 0;          ///< until the last rank has finished
    std::vector<double> finish;  ///< seconds until each rank has finished
    std::uint64_t messages = 0;  ///< of all ranks
    std::uint64_t bytes = 0;     ///< sent by all ranks
};

namespace detail {

/// Runs schedules on all ranks. Times depend on earlier steps only, so ranks are taken as far as they get, in any order.
class Simulation {
public:
    Simulation(const char* name, int world_size, int chunks, std::size_t element_bytes, const LinkModel& model)
        : name_(name), chunks_(chunks), element_bytes_(element_bytes), model_(model) {
        const auto refuse = [](const std::string& what) { throw ConfigurationError("simulate: " + what); };
        if (world_size < 1) refuse("world_size must be at least 1, not " + std::to_string(world_size));
        if (chunks < 1) refuse(std::string(name) + " cuts the buffer into no chunk at all");
        for (const double cost : {model.latency, model.seconds_per_byte, model.seconds_per_byte_combined,
                                  model.overhead, model.seconds_per_byte_copied, model.at_once, model.slowdown}) {
            if (!(cost >= 0 && cost < 1e300)) refuse("a cost is " + std::to_string(cost));
        }
        if (model.slow_rank >= world_size) refuse("there is no slow_rank " + std::to_string(model.slow_rank));
        ranks_.resize(static_cast<std::size_t>(world_size));
        if (model.slow_rank >= 0) ranks_[static_cast<std::size_t>(model.slow_rank)].slowdown = model.slowdown;
    }

    /// Of the segment that is run next.
    void set_length(std::size_t elements) noexcept { elements_ = elements; }

    /// Every rank goes on from where it was. @throws ConfigurationError naming rank and step, if it would wait for ever.
    void run(Half half, const Schedule& schedule) {
        half_ = half;
        schedule_ = &schedule;
        match_messages();
        std::vector<std::size_t> runnable;
        for (std::size_t rank = ranks_.size(); rank-- > 0;) runnable.push_back(rank);
        while (!runnable.empty()) {
            const std::size_t rank = runnable.back();
            runnable.pop_back();
            advance(rank, runnable);
        }
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (ranks_[rank].step == schedule[rank].size()) continue;
            fail(rank, ranks_[rank].step, "waits for ever for rank " + std::to_string(ranks_[rank].waits_for));
        }
    }

    Prediction prediction() && {
        for (const Rank& each : ranks_) {
            total_.finish.push_back(each.now);
            total_.seconds = (std::max)(total_.seconds, each.now);
        }
        // Ranks that share processors take turns: all work must be done by those that there are.
        const double shared = model_.at_once > 0 ? work_ / model_.at_once : 0;
        if (shared > total_.seconds) {
            for (double& each : total_.finish) each *= shared / total_.seconds;
            total_.seconds = shared;
        }
        return std::move(total_);
    }

private:
    struct Kept {
        Transfer what;
        int times;
    };
    struct Rank {
        double now = 0;        ///< when its current step began
        double link_free = 0;  ///< when its link had taken in the latest message
        double slowdown = 1;
        std::size_t step = 0;
        int waits_for = -1;
        std::vector<double> begun{};        ///< [step] when it began, of those that have
        std::vector<std::size_t> source{};  ///< [step] the sender's step whose message is received
        std::vector<Kept> kept{};
    };
    struct Sent {
        std::size_t rank;
        std::size_t step;
        bool received = false;
    };

    [[noreturn]] void fail(std::size_t rank, std::size_t step, const std::string& what) const {
        throw ConfigurationError(std::string("simulate: ") + name_ + " over " + std::to_string(ranks_.size()) +
                                     " ranks: rank " + std::to_string(rank) + " " + what + " in step " +
                                     std::to_string(step) + " of " + (half_ == Half::reduce ? "reduce" : "distribute"),
                                 static_cast<int>(rank));
    }

    void check(std::size_t rank, std::size_t step, const Transfer& transfer) const {
        if (!transfer.any() && transfer.chunk_count == 0) return;
        if (transfer.peer >= static_cast<int>(ranks_.size()) || transfer.peer == static_cast<int>(rank)) {
            fail(rank, step, "names rank " + std::to_string(transfer.peer));
        }
        if (transfer.first_chunk < 0 || transfer.chunk_count < 1 ||
            transfer.chunk_count > chunks_ - transfer.first_chunk) {
            fail(rank, step, "names chunks that do not exist");
        }
    }

    /// The n-th message from one rank to another is what the other's n-th receive from it gets.
    void match_messages() {
        const Schedule& schedule = *schedule_;
        std::vector<std::vector<Sent>> sent_to(ranks_.size());  // by receiver; there by sender, then by step
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            for (std::size_t at = 0; at < schedule[rank].size(); ++at) {
                const Step& step = schedule[rank][at];
                check(rank, at, step.send);
                check(rank, at, step.receive);
                if (step.send.any()) sent_to[static_cast<std::size_t>(step.send.peer)].push_back({rank, at});
            }
        }
        std::vector<std::size_t> next(ranks_.size());  // [sender] its first message that is not yet received
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            std::vector<Sent>& inbox = sent_to[rank];
            std::fill(next.begin(), next.end(), inbox.size());
            for (std::size_t message = inbox.size(); message-- > 0;) next[inbox[message].rank] = message;
            ranks_[rank].step = 0;
            ranks_[rank].begun.clear();
            ranks_[rank].source.assign(schedule[rank].size(), 0);
            for (std::size_t at = 0; at < schedule[rank].size(); ++at) {
                const Transfer& receive = schedule[rank][at].receive;
                if (!receive.any()) continue;
                const auto peer = static_cast<std::size_t>(receive.peer);
                const std::size_t message = next[peer]++;
                if (message >= inbox.size() || inbox[message].rank != peer) {
                    fail(rank, at, "waits for ever for rank " + std::to_string(peer) + ", who does not send,");
                }
                const Transfer& send = schedule[peer][inbox[message].step].send;
                if (send.first_chunk != receive.first_chunk || send.chunk_count != receive.chunk_count) {
                    fail(rank, at, "receives other chunks than rank " + std::to_string(peer) + " sends");
                }
                ranks_[rank].source[at] = inbox[message].step;
                inbox[message].received = true;
            }
            for (const Sent& each : inbox) {
                if (each.received) continue;
                fail(each.rank, each.step, "sends what rank " + std::to_string(rank) + " never receives");
            }
        }
    }

    std::uint64_t bytes_of(const Transfer& transfer) const {
        return elements_of(transfer, elements_, chunks_).size * element_bytes_;
    }

    /// Takes `rank` to its end, or to a message that is not yet on its way.
    void advance(std::size_t rank, std::vector<std::size_t>& runnable) {
        Rank& me = ranks_[rank];
        me.waits_for = -1;
        const double overhead = model_.overhead * me.slowdown;
        const double per_byte_combined = model_.seconds_per_byte_combined * me.slowdown;
        const std::vector<Step>& steps = (*schedule_)[rank];
        for (; me.step < steps.size(); ++me.step) {
            const Step& step = steps[me.step];
            if (me.begun.size() == me.step) {
                me.begun.push_back(me.now);
                if (step.send.any()) {
                    ++total_.messages;
                    total_.bytes += bytes_of(step.send);
                    const auto peer = static_cast<std::size_t>(step.send.peer);
                    if (ranks_[peer].waits_for == static_cast<int>(rank)) runnable.push_back(peer);
                }
            }
            const double sent = step.send.any() ? static_cast<double>(bytes_of(step.send)) : 0;
            const auto received = static_cast<double>(bytes_of(step.receive));
            double work = (step.send.any() ? overhead : 0) + (step.receive.any() ? overhead : 0) +
                          (sent + (step.receive.any() ? received : 0)) * model_.seconds_per_byte_copied * me.slowdown;
            const double hands_free = me.now + (step.send.any() ? overhead : 0);
            double end = hands_free + sent * model_.seconds_per_byte * me.slowdown;
            if (step.fold == Fold::add_kept) {
                work = received * per_byte_combined * std::exchange(kept_for(me, step.receive), 0);
                end += work;
            } else if (step.receive.any()) {
                const Rank& peer = ranks_[static_cast<std::size_t>(step.receive.peer)];
                const std::size_t source = me.source[me.step];
                if (source >= peer.begun.size()) {
                    me.waits_for = step.receive.peer;
                    return;
                }
                const double first_byte = peer.begun[source] + model_.overhead * peer.slowdown + model_.latency;
                me.link_free = (std::max)(first_byte, me.link_free) +
                               received * model_.seconds_per_byte * (std::max)(me.slowdown, peer.slowdown);
                const double added = step.fold == Fold::add ? received * per_byte_combined : 0;
                work += added;
                end = (std::max)(end, (std::max)(me.link_free, hands_free) + overhead + added);
                if (step.fold == Fold::keep) ++kept_for(me, step.receive);
            }
            work_ += work;
            me.now = (std::max)(end, me.now + work);
        }
    }

    /// How many contributions to these chunks `rank` keeps.
    static int& kept_for(Rank& rank, const Transfer& what) {
        for (Kept& each : rank.kept) {
            if (each.what.first_chunk == what.first_chunk && each.what.chunk_count == what.chunk_count)
                return each.times;
        }
        return rank.kept.emplace_back(Kept{what, 0}).times;
    }

    const char* name_;
    int chunks_;
    std::size_t elements_ = 0;
    std::size_t element_bytes_;
    LinkModel model_;
    Half half_ = Half::reduce;
    const Schedule* schedule_ = nullptr;
    std::vector<Rank> ranks_;
    Prediction total_;
    double work_ = 0;  ///< seconds, of all ranks
};

}  // namespace detail

/// Predicts one all-reduce of `elements` elements over `world_size` ranks that begin at the same moment.
/// A step's send and receive run at once; the step ends, and the rank's next begins, when both have ended. A message leaves
/// when its sender's step begins: a receiver that is late costs the sender nothing, as if there were always room. Messages
/// of a pair arrive in order; a rank's link takes in one at a time, in the order of its steps. The owner's action is free.
/// Cost: one pass over the schedule for each segment; a million messages take a fraction of a second.
/// @throws ConfigurationError if the schedule cannot be run (it names rank and step), or a cost is no cost
template <Topology Shape>
Prediction simulate(int world_size, std::size_t elements, std::size_t element_bytes, const LinkModel& model) {
    const int chunks = world_size < 1 ? 1 : Shape::chunks(world_size);
    detail::Simulation simulation(Shape::name, world_size, chunks, element_bytes, model);
    const Schedule reduce = schedule_of<Shape>(Half::reduce, world_size);
    const Schedule distribute = schedule_of<Shape>(Half::distribute, world_size);
    const int segments = segments_of<Shape>(world_size, elements);
    for (int segment = 0; segment < segments; ++segment) {
        simulation.set_length(shard_of(elements, segment, segments).size);
        simulation.run(Half::reduce, reduce);
        simulation.run(Half::distribute, distribute);
    }
    return std::move(simulation).prediction();
}

}  // namespace lockstep
