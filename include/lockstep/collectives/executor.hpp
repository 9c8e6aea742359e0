// SPDX-License-Identifier: MIT
/// @file
/// The executor runs any schedule over any transport: it turns chunks into spans and steps into exchanges.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/collectives/reduction.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/schedule.hpp>

namespace lockstep {

/// An owner's action that does nothing: the sum is the result.
struct KeepSum {
    template <class Scalar>
    constexpr void operator()(std::span<Scalar>, std::size_t) const noexcept {}
};

/// Runs `Shape` over a transport. Messages and bytes are those of `counts_of<Shape>`, whatever the length: zero
/// elements still send empty messages, so that ranks stay in step and disagreements are found.
///
/// Order of addition is that of the schedule: the same bits on all ranks, in every run and over every transport.
/// Errors: those of the transport, on every rank; the buffer then holds unspecified values.
/// Allocates only the first time that a step sends and receives overlapping chunks.
template <Topology Shape>
class Executor {
public:
    /// Both halves: afterwards every rank holds the reduction of all ranks' buffers, as the owners left it.
    /// `owner_acts(piece, first_element)` is called between the halves on each finished piece that this rank owns.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        const Call call = begin<Scalar>(link, Operation::all_reduce, Operator::kind, buffer.size());
        run_half(link, call, buffer, Half::reduce, combine_of<Operator, Scalar>());
        act(link, buffer, owner_acts);
        run_half(link, call, buffer, Half::distribute, nullptr);
    }

    /// The first half: afterwards owners hold finished pieces; the rest of the buffer is unspecified.
    template <class Scalar, Transport Link, class Operator = Sum, class Action = KeepSum>
    void reduce(Link& link, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        const Call call = begin<Scalar>(link, Operation::reduce, Operator::kind, buffer.size());
        run_half(link, call, buffer, Half::reduce, combine_of<Operator, Scalar>());
        act(link, buffer, owner_acts);
    }

    /// The second half: afterwards every rank holds the pieces of their owners.
    template <class Scalar, Transport Link>
    void distribute(Link& link, std::span<Scalar> buffer) {
        const Call call = begin<Scalar>(link, Operation::distribute, Reduction::none, buffer.size());
        run_half(link, call, buffer, Half::distribute, nullptr);
    }

    /// One half of a call that the caller has begun, with ranks renumbered so that `root` plays the part of rank 0.
    template <class Scalar, Transport Link>
    void run_half(Link& link, const Call& call, std::span<Scalar> buffer, Half half, Combine combine, int root = 0) {
        const int world_size = link.world_size();
        const int chunks = Shape::chunks(world_size);
        steps_of<Shape>(half, (link.rank() - root + world_size) % world_size, world_size, [&](const Step& step) {
            const Shard sent = elements_of(step.send, buffer.size(), chunks);
            const Shard received = elements_of(step.receive, buffer.size(), chunks);
            std::span<const std::byte> outgoing = std::as_bytes(buffer.subspan(sent.begin, sent.size));
            if (sent.begin < received.end() && received.begin < sent.end()) {
                // What is sent is what was there at first, though the arriving bytes fall into the same place.
                staging_.assign(outgoing.begin(), outgoing.end());
                outgoing = staging_;
            }
            link.exchange(call, Outgoing{peer(step.send, root, world_size), outgoing},
                          Incoming{peer(step.receive, root, world_size),
                                   std::as_writable_bytes(buffer.subspan(received.begin, received.size)),
                                   step.fold == Fold::add ? combine : nullptr});
        });
    }

    /// Numbers a call on the transport; every rank must begin the same one.
    template <class Scalar, Transport Link>
    static Call begin(Link& link, Operation operation, Reduction reduction, std::size_t elements, int root = 0) {
        return link.begin(
            {operation, reduction, element_type_of<Scalar>, root, short_name(Shape::name), std::uint64_t{elements}});
    }

private:
    static int peer(const Transfer& transfer, int root, int world_size) {
        return transfer.any() ? (transfer.peer + root) % world_size : -1;
    }

    template <class Scalar, class Link, class Action>
    static void act(const Link& link, std::span<Scalar> buffer, Action& owner_acts) {
        const int chunks = Shape::chunks(link.world_size());
        for (int chunk = 0; chunk < chunks;) {
            // Neighbouring chunks are one piece: fewer calls, longer loops.
            const int first = chunk;
            while (chunk < chunks && Shape::owns(link.rank(), link.world_size(), chunk)) ++chunk;
            const Shard piece = elements_of({0, first, chunk - first}, buffer.size(), chunks);
            if (piece.size > 0) owner_acts(buffer.subspan(piece.begin, piece.size), piece.begin);
            if (chunk == first) ++chunk;
        }
    }

    std::vector<std::byte> staging_;
};

/// The reducer that a policy stands for: a topology is run by the executor, anything else is a reducer itself.
template <class Strategy>
struct ReducerOf {
    using type = Strategy;
};
template <Topology Shape>
struct ReducerOf<Shape> {
    using type = Executor<Shape>;
};
template <class Strategy>
using reducer_of = typename ReducerOf<Strategy>::type;

}  // namespace lockstep
