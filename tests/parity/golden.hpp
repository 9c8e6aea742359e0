// SPDX-License-Identifier: MIT
/// @file
/// The numbers that PyTorch has made (generate.py), and the inputs that it was given.
#pragma once

#include <cmath>
#include <cstddef>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// A fixed scatter over [-1, 1]: the same as `numbers` in generate.py.
template <class Scalar = double>
std::vector<Scalar> values_of(std::size_t count, std::size_t salt, double scale = 1) {
    std::vector<Scalar> values(count);
    for (std::size_t index = 0; index < count; ++index) {
        const std::size_t scattered = (index * 7919 + salt * 104729) % 2003;
        values[index] = static_cast<Scalar>(scale * (static_cast<double>(scattered) / 1001.5 - 1));
    }
    return values;
}

/// The line `name` of golden.txt.
inline const std::vector<double>& golden(const std::string& name) {
    static const auto all = [] {
        std::map<std::string, std::vector<double>> lines;
        std::ifstream file(LOCKSTEP_GOLDEN);
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string key;
            std::size_t count = 0;
            words >> key >> count;
            if (key == "#") continue;
            std::vector<double> values(count);
            for (double& value : values) words >> value;
            if (!words) throw std::runtime_error(LOCKSTEP_GOLDEN ": the line of " + key + " is cut");
            lines.emplace(key, std::move(values));
        }
        return lines;
    }();
    const auto found = all.find(name);
    if (found == all.end()) throw std::runtime_error(std::string(LOCKSTEP_GOLDEN) + " has no line " + name);
    return found->second;
}

/// The largest difference, in units of the largest number there is; infinite if there are not as many.
template <class Scalar>
double relative_error(std::span<const Scalar> values, const std::vector<double>& expected) {
    if (values.size() != expected.size()) return HUGE_VAL;
    double scale = 1e-300;
    double worst = 0;
    for (const double each : expected) scale = std::fmax(scale, std::fabs(each));
    for (std::size_t index = 0; index < expected.size(); ++index) {
        const double error = std::fabs(static_cast<double>(values[index]) - expected[index]);
        worst = std::isnan(error) ? HUGE_VAL : std::fmax(worst, error);
    }
    return worst / scale;
}

/// The limit that the scalar type deserves.
template <class Scalar>
constexpr double limit(double in_double, double in_float) noexcept {
    return sizeof(Scalar) == sizeof(double) ? in_double : in_float;
}

}  // namespace test
