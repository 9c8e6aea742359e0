// SPDX-License-Identifier: MIT
/// @file
/// Topology Hierarchical<Inner, Outer, LocalSize>: a schedule made of two schedules.
/// Idea: ranks are grouped as they come, LocalSize to a group (the last may be smaller): one group is one host, say. Inner
///       reduces within each group; the owners of a chunk, one a group, reduce among themselves by Outer; then all goes
///       back. Order of addition: Inner's within groups, then Outer's between them.
/// Cost: between groups, Outer's for W/LocalSize ranks on what an owner owns: n/LocalSize bytes with Ring inside.
/// Choose it when: ranks in a group reach each other faster than ranks of other groups.
/// Source: Cho, Finkler, Kung, Hunter, "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
///         hierarchy", MLSys 2019.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

template <Topology Inner, Topology Outer, int LocalSize>
struct Hierarchical {
    static_assert(LocalSize >= 1, "a group has at least one rank");

    static constexpr const char* name = "hierarchical";

    /// Cut so that both groups' sizes and Outer find their chunks: Inner's chunks of any group are runs of ours.
    static constexpr int chunks(int world_size) { return units(world_size) * Outer::chunks(groups(world_size)); }
    static constexpr bool owns(int rank, int world_size, int chunk) {
        const int group = rank / LocalSize;
        const int depth = Outer::chunks(groups(world_size));
        return owner(group, world_size, chunk / depth) == rank && Outer::owns(group, groups(world_size), chunk % depth);
    }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        const Place place(rank, world_size);
        Inner::reduce(place.local, place.local_size, [&](const Step& step) { emit(place.widen(step)); });
        between_groups(
            place, [&](auto&& each) { Outer::reduce(place.group, groups(world_size), each); }, emit);
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        const Place place(rank, world_size);
        between_groups(
            place, [&](auto&& each) { Outer::distribute(place.group, groups(world_size), each); }, emit);
        Inner::distribute(place.local, place.local_size, [&](const Step& step) { emit(place.widen(step)); });
    }

private:
    static constexpr int groups(int world_size) noexcept { return (world_size + LocalSize - 1) / LocalSize; }
    static constexpr int size_of_group(int group, int world_size) noexcept {
        const int left = world_size - group * LocalSize;
        return left < LocalSize ? left : LocalSize;
    }

    /// Into how many units Outer's work falls: the least number that Inner's chunks in full and in the last group divide.
    static constexpr int units(int world_size) {
        const int full = Inner::chunks(size_of_group(0, world_size));
        const int last = Inner::chunks(size_of_group(groups(world_size) - 1, world_size));
        int common = full;
        while (common % last != 0) common += full;
        return common;
    }

    /// The rank of `group` that holds `unit` after Inner's first half.
    static constexpr int owner(int group, int world_size, int unit) {
        const int size = size_of_group(group, world_size);
        const int chunk = unit / (units(world_size) / Inner::chunks(size));
        int local = 0;
        while (local + 1 < size && !Inner::owns(local, size, chunk)) ++local;
        return group * LocalSize + local;
    }

    struct Place {
        constexpr Place(int of, int ranks)
            : rank(of),
              world_size(ranks),
              group(of / LocalSize),
              local(of % LocalSize),
              local_size(size_of_group(group, ranks)),
              scale(units(ranks) / Inner::chunks(local_size) * Outer::chunks(groups(ranks))) {}

        /// A step among the ranks of this group, in the ranks and chunks of the world.
        constexpr Step widen(Step step) const {
            for (Transfer* transfer : {&step.send, &step.receive}) {
                if (transfer->peer >= 0) transfer->peer += group * LocalSize;
                transfer->first_chunk *= scale;
                transfer->chunk_count *= scale;
            }
            return step;
        }

        int rank;
        int world_size;
        int group;
        int local;
        int local_size;
        int scale;
    };

    /// Outer's steps for every unit that `place.rank` holds for its group, unit after unit.
    template <class Steps, class Emit>
    static constexpr void between_groups(const Place& place, const Steps& steps, Emit&& emit) {
        const int depth = Outer::chunks(groups(place.world_size));
        for (int unit = 0; unit < units(place.world_size); ++unit) {
            if (owner(place.group, place.world_size, unit) != place.rank) continue;
            steps([&](Step step) {
                for (Transfer* transfer : {&step.send, &step.receive}) {
                    if (transfer->peer >= 0) transfer->peer = owner(transfer->peer, place.world_size, unit);
                    transfer->first_chunk += unit * depth;
                }
                emit(step);
            });
        }
    }
};

}  // namespace lockstep
