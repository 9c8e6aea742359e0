// SPDX-License-Identifier: MIT
/// @file
/// A reducer behind function pointers: what tests do with it is compiled once for each transport, not for each reducer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/topology/schedule.hpp>

namespace test {

/// An owner's action on `Scalar`; none if empty.
template <class Scalar>
using AnyAction = std::function<void(std::span<Scalar>, std::size_t)>;

template <class Link, class Scalar, class Operator>
struct ReductionOf {
    void (*all_reduce)(Link&, std::span<Scalar>, const AnyAction<Scalar>&);
    void (*reduce)(Link&, std::span<Scalar>);  ///< of topologies

    template <class Strategy>
    void set() {
        all_reduce = [](Link& link, std::span<Scalar> values, const AnyAction<Scalar>& action) {
            if (action) lockstep::all_reduce<Strategy>(link, values, Operator{}, action);
            else lockstep::all_reduce<Strategy>(link, values, Operator{});
        };
        reduce = nullptr;
        if constexpr (lockstep::Topology<Strategy>) {
            reduce = [](Link& link, std::span<Scalar> values) { lockstep::reduce<Strategy>(link, values, Operator{}); };
        }
    }
};
template <class Link, class Operator, class... Scalars>
struct ReductionsOf : ReductionOf<Link, Scalars, Operator>... {
    template <class Strategy>
    void set() {
        (ReductionOf<Link, Scalars, Operator>::template set<Strategy>(), ...);
    }
};
template <class Link, class Operator>
using ReductionsBy = ReductionsOf<Link, Operator, float, double, std::int32_t, std::int64_t, std::uint8_t>;

template <class Link>
class AnyReducer : ReductionsBy<Link, lockstep::Sum>,
                   ReductionsBy<Link, lockstep::Min>,
                   ReductionsBy<Link, lockstep::Max> {
public:
    const char* name = nullptr;

    template <class Scalar, class Operator = lockstep::Sum, class Action = lockstep::KeepSum>
    void all_reduce(Link& link, std::span<Scalar> values, Operator = {}, Action&& action = {}) const {
        AnyAction<Scalar> any;
        if constexpr (!std::same_as<std::remove_cvref_t<Action>, lockstep::KeepSum>) any = std::ref(action);
        ReductionOf<Link, Scalar, Operator>::all_reduce(link, values, any);
    }

    /// What only topologies have.
    struct Shape {
        int (*chunks)(int world) = nullptr;
        bool (*owns)(int rank, int world, int chunk) = nullptr;
        lockstep::Counts (*counts)(int rank, int world, std::size_t elements) = nullptr;
    };
    Shape shape;
    bool is_topology() const noexcept { return shape.chunks != nullptr; }
    void (*second_half)(Link&, std::span<float>) = nullptr;
    template <class Scalar, class Operator = lockstep::Sum>
    void first_half(Link& link, std::span<Scalar> values, Operator = {}) const {
        ReductionOf<Link, Scalar, Operator>::reduce(link, values);
    }

    template <class Strategy>
    static AnyReducer of() {
        AnyReducer reducer;
        reducer.ReductionsBy<Link, lockstep::Sum>::template set<Strategy>();
        reducer.ReductionsBy<Link, lockstep::Min>::template set<Strategy>();
        reducer.ReductionsBy<Link, lockstep::Max>::template set<Strategy>();
        if constexpr (requires { Strategy::name; }) reducer.name = Strategy::name;
        if constexpr (lockstep::Topology<Strategy>) {
            reducer.shape = {[](int world) { return Strategy::chunks(world); },
                             [](int rank, int world, int chunk) { return Strategy::owns(rank, world, chunk); },
                             &lockstep::counts_of<Strategy>};
            reducer.second_half = [](Link& link, std::span<float> values) {
                lockstep::distribute<Strategy>(link, values);
            };
        }
        return reducer;
    }
};

/// Every reducer of the library that runs over this transport. Compiled in support/reducers/; a test with a transport of
/// its own includes support/reducers/every_reducer.hpp.
template <class Link>
const std::vector<AnyReducer<Link>>& every_reducer();

/// Of `decltype(link)`.
template <class Reference>
using LinkOf = std::remove_reference_t<Reference>;
template <class Reference>
using ReducerFor = AnyReducer<LinkOf<Reference>>;

/// Calls `visit(reducer)` for each: on a rank, or (`for_each_reducer<Runner>`) before ranks are started.
template <class Link, class Visit>
void for_each_reducer(const Link&, const Visit& visit) {
    for (const auto& reducer : every_reducer<Link>()) visit(reducer);
}
template <class Runner, class Visit>
void for_each_reducer(const Visit& visit) {
    for (const auto& reducer : every_reducer<typename Runner::link_type>()) visit(reducer);
}

/// Every topology of the library.
template <class Link>
std::vector<AnyReducer<Link>> every_topology() {
    std::vector<AnyReducer<Link>> topologies;
    for (const auto& each : every_reducer<Link>()) {
        if (each.is_topology()) topologies.push_back(each);
    }
    return topologies;
}

}  // namespace test
