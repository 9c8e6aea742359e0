// SPDX-License-Identifier: MIT
/// @file
/// What contenders of compare_steps.py have in common: commands, first parameters, rows, and the clock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/core/deadline.hpp>

#include "contender.hpp"

namespace peers {

/// Ranks wait for their turn while others are measured.
constexpr lockstep::Seconds patience{600};

/// The same as `numbers` in ddp.py: a fixed scatter over [-scale, scale].
inline std::vector<float> numbers(std::size_t count, std::size_t salt, double scale) {
    std::vector<float> values(count);
    for (std::size_t index = 0; index < count; ++index) {
        const std::size_t scattered = (index * 7919 + salt * 104729) % 2003;
        values[index] = static_cast<float>(scale * (static_cast<double>(scattered) / 1001.5 - 1));
    }
    return values;
}

struct Rows {
    std::size_t count = 0;
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
};

/// Answers commands until their end. `steps_on(rows)` is a function that makes one step on these global rows, and returns
/// its loss.
template <class Link, class Replica, class StepsOn>
void serve_steps(Link& link, Replica& replica, std::size_t inputs, const StepsOn& steps_on) {
    bind_to_core(link.rank());
    const std::span<float> parameters = replica.model().parameters();
    const auto start = numbers(parameters.size(), 17, 0.05);
    std::copy(start.begin(), start.end(), parameters.begin());
    for (std::string line;;) {
        std::array<std::int64_t, 3> command{};  // rows a rank, iterations, warm-up; no rows: the end
        if (link.rank() == 0 && std::getline(std::cin, line)) {
            std::istringstream(line) >> command[0] >> command[1] >> command[2];
        }
        lockstep::broadcast(link, std::span<std::int64_t>(command));
        if (command[0] < 1) return;
        Rows rows{static_cast<std::size_t>(command[0]) * static_cast<std::size_t>(link.world_size()), {}, {}};
        rows.inputs = numbers(rows.count * inputs, 5, 1);
        for (std::size_t row = 0; row < rows.count; ++row) {
            rows.labels.push_back(static_cast<std::int32_t>(row * 7 % 10));
        }
        const auto step = steps_on(rows);
        double loss = 0;
        auto begun = std::chrono::steady_clock::now();
        for (std::int64_t at = -command[2]; at < command[1]; ++at) {
            if (at == 0) {
                lockstep::barrier(link);
                begun = std::chrono::steady_clock::now();
            }
            loss = step();
        }
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
        if (link.rank() == 0) {
            std::printf("ok %.9g %.9g\n", spent.count() / static_cast<double>(command[1]), loss);
            std::fflush(stdout);
        }
    }
}

}  // namespace peers
