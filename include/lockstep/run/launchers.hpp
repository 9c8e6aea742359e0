// SPDX-License-Identifier: MIT
/// @file
/// What launchers tell the processes that they start, each in variables of its own.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include <lockstep/core/error.hpp>

namespace lockstep::detail {

/// The names of a launcher's variables. `local_size` is how many ranks are on this host; null where it does not say.
struct Launcher {
    const char* name;
    const char* rank;
    const char* world_size;
    const char* local_rank;
    const char* local_size;
    const char* only_if;  ///< its variables mean something only if this one is set, too

    bool present() const {
        if (only_if != nullptr && std::getenv(only_if) == nullptr) return false;
        if (is_slurms_own()) return false;
        return std::getenv(rank) != nullptr || std::getenv(world_size) != nullptr;
    }

    /// Slurm can set MPICH's variables itself, for its own ranks; Hydra inside of a step sets others.
    bool is_slurms_own() const {
        const char* const slurms = std::getenv("SLURM_PROCID");
        const char* const ours = std::getenv(rank);
        return std::string_view(rank) == "PMI_RANK" && std::getenv("SLURM_STEP_ID") != nullptr && slurms != nullptr &&
               ours != nullptr && std::string_view(slurms) == ours && std::getenv(local_size) == nullptr;
    }
};

/// The first that is present counts. A batch script that Slurm runs has its variables too, but is no rank: a step has an
/// identifier.
inline constexpr std::array<Launcher, 4> launchers{{
    {"RANK and WORLD_SIZE, as torchrun sets them", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", nullptr},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr, "SLURM_STEP_ID"},
}};

/// @throws ConfigurationError if it is not set
inline std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) throw ConfigurationError(std::string(name) + " is not set");
    return value;
}

/// @throws ConfigurationError naming the variable and its value
inline int number_variable(const char* name, int low, int high) {
    const std::string value = variable(name);
    int parsed = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (code != std::errc{} || end != value.data() + value.size() || parsed < low || parsed > high) {
        throw ConfigurationError(std::string(name) + "=\"" + value + "\" is not a whole number from " +
                                 std::to_string(low) + " to " + std::to_string(high));
    }
    return parsed;
}

/// The first host of a list as Slurm writes them: "node[07-12,15]-ib,other" begins with "node07-ib".
inline std::string first_host(std::string_view list) {
    std::string host;
    bool skips = false;
    bool in_range = false;
    for (const char letter : list) {
        if (letter == '[') {
            in_range = true;
        } else if (letter == ']') {
            in_range = skips = false;
        } else if (letter == ',' && !in_range) {
            break;
        } else if (in_range && (letter == ',' || letter == '-')) {
            skips = true;
        } else if (!skips) {
            host += letter;
        }
    }
    return host;
}

}  // namespace lockstep::detail
