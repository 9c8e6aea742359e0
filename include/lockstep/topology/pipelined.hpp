// SPDX-License-Identifier: MIT
/// @file
/// Topology Pipelined<Shape, Pieces>: another topology, run for one piece of the buffer after the other.
/// Idea: while a rank hands one piece on, it receives the next; all levels of a tree are then busy at once. A step that
///       only sends and a following one that only receives become one that does both.
/// Cost: Pieces times as many messages. What is gained is the time in which a rank only waited or only added; the busiest
///       rank still moves as many bytes (with Tree: n ceil(lg W) through rank 0).
/// Choose it when: a topology's rounds follow one another along a path, as in a chain, and messages are long.
#pragma once

#include <lockstep/core/concepts.hpp>

namespace lockstep {

template <Topology Shape, int Pieces = 8>
struct Pipelined {
    static_assert(Pieces >= 1, "the buffer is at least one piece");

    static constexpr const char* name = "pipelined";

    static constexpr int chunks(int world_size) { return Pieces * Shape::chunks(world_size); }
    static constexpr bool owns(int rank, int world_size, int chunk) {
        return Shape::owns(rank, world_size, chunk % Shape::chunks(world_size));
    }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        one_after_another(
            world_size, [&](auto&& each) { Shape::reduce(rank, world_size, each); }, emit);
    }
    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        one_after_another(
            world_size, [&](auto&& each) { Shape::distribute(rank, world_size, each); }, emit);
    }

private:
    template <class Steps, class Emit>
    static constexpr void one_after_another(int world_size, const Steps& steps, Emit&& emit) {
        Step held;  // sends, and waits for something to receive at the same time
        for (int piece = 0; piece < Pieces; ++piece) {
            const int offset = piece * Shape::chunks(world_size);
            steps([&](Step step) {
                step.send.first_chunk += offset;
                step.receive.first_chunk += offset;
                // Within a piece the order of steps may matter to the data; between pieces it cannot.
                const bool joins =
                    held.send.any() && held.send.first_chunk < offset && !step.send.any() && step.receive.any();
                if (joins) {
                    step.send = held.send;
                    held = {};
                    return emit(step);
                }
                if (held.send.any()) emit(held);
                held = {};
                const bool only_sends = step.send.any() && !step.receive.any();
                if (only_sends) held = step;
                else emit(step);
            });
        }
        if (held.send.any()) emit(held);
    }
};

}  // namespace lockstep
