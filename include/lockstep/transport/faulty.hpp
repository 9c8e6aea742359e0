// SPDX-License-Identifier: MIT
/// @file
/// Transport Faulty<Link>: another transport, and a fault at a chosen exchange: for tests of what is built on transports.
/// Idea: counts this rank's exchanges; at number `at` one thing goes wrong, the same each time for the same seed.
/// Cost: a comparison an exchange.
/// Choose it when: you want to see that a reducer, or your program, ends well when things do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <lockstep/core/concepts.hpp>
#include <lockstep/core/random.hpp>

namespace lockstep {

enum class Fault {
    none,
    drop,      ///< what the rank sends never leaves it; its receiver waits until its deadline
    delay,     ///< the exchange begins late
    truncate,  ///< what the rank sends is cut short, by at least a byte: its receiver sees that lengths differ
    corrupt,   ///< one bit of what the rank sends is another: no transport here sees that, the sum is wrong
    raise,     ///< the exchange throws std::runtime_error
};

/// What goes wrong, and when. Faults of what is sent wait for the first exchange from `at` on that sends a byte.
struct FaultPlan {
    Fault fault = Fault::none;
    std::uint64_t at = 0;    ///< number of the exchange, from 0
    std::uint64_t seed = 0;  ///< chooses where to cut, and which bit
    Seconds delay{0.01};
};

/// Models Transport by way of `Link`. It is no SharedAddressSpace, even over one: Fused needs no exchange.
template <Transport Link>
class Faulty {
public:
    Faulty(Link link, const FaultPlan& plan) : link_(std::move(link)), plan_(plan), random_(plan.seed) {}

    int rank() const noexcept { return link_.rank(); }
    int world_size() const noexcept { return link_.world_size(); }
    Traffic traffic() const noexcept { return link_.traffic(); }
    Call begin(const Request& request) { return link_.begin(request); }
    void fail(Failure failure) { link_.fail(std::move(failure)); }

    /// Has the fault happened?
    bool struck() const noexcept { return struck_; }
    /// Exchanges so far.
    std::uint64_t exchanges() const noexcept { return exchanges_; }

    /// @throws std::runtime_error where that is the fault; whatever `Link` throws
    void exchange(const Call& call, Outgoing outgoing, Incoming incoming) {
        const bool due = exchanges_++ >= plan_.at && plan_.fault != Fault::none && !struck_;
        const bool about_sending =
            plan_.fault == Fault::drop || plan_.fault == Fault::truncate || plan_.fault == Fault::corrupt;
        const bool sends = outgoing.peer >= 0 && (!outgoing.bytes.empty() || plan_.fault == Fault::drop);
        if (!due || (about_sending && !sends)) return link_.exchange(call, outgoing, incoming);
        struck_ = true;
        switch (plan_.fault) {
            case Fault::none: break;
            case Fault::drop: outgoing = {}; break;
            case Fault::delay: std::this_thread::sleep_for(plan_.delay); break;
            case Fault::truncate: outgoing.bytes = outgoing.bytes.first(random_() % outgoing.bytes.size()); break;
            case Fault::corrupt:
                spoilt_.assign(outgoing.bytes.begin(), outgoing.bytes.end());
                spoilt_[random_() % spoilt_.size()] ^= std::byte{1} << (random_() % 8);
                outgoing.bytes = spoilt_;
                break;
            case Fault::raise:
                throw std::runtime_error("the fault that was planned for exchange " + std::to_string(plan_.at));
        }
        link_.exchange(call, outgoing, incoming);
    }

private:
    Link link_;
    FaultPlan plan_;
    Random random_;
    std::vector<std::byte> spoilt_;
    std::uint64_t exchanges_ = 0;
    bool struck_ = false;
};

}  // namespace lockstep
