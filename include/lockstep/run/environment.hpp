// SPDX-License-Identifier: MIT
/// @file
/// Which rank of which world this process is, as its launcher says in environment variables.
#pragma once

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/transport/sockets.hpp>

namespace lockstep {

/// The variables that torchrun and others set: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
///
/// MASTER_ADDR may also be "unix:/path": a Unix domain socket, for which MASTER_PORT is not needed.
struct LaunchEnvironment {
    int rank = 0;
    int world_size = 1;
    std::string address;  ///< "host:port" or "unix:/path", as SocketsOptions has it

    /// Has somebody launched us as a rank of a world? True as soon as RANK or WORLD_SIZE is set.
    static bool present() { return std::getenv("RANK") != nullptr || std::getenv("WORLD_SIZE") != nullptr; }

    /// Reads and checks all variables; opens nothing.
    /// @throws ConfigurationError naming the variable and its value
    static LaunchEnvironment from_env() {
        LaunchEnvironment found;
        found.world_size = number("WORLD_SIZE", 1, 1'000'000);
        found.rank = number("RANK", 0, 999'999);
        if (found.rank >= found.world_size) {
            throw ConfigurationError("RANK=" + std::to_string(found.rank) +
                                     " is not less than WORLD_SIZE=" + std::to_string(found.world_size));
        }
        const std::string host = text("MASTER_ADDR");
        if (host.empty()) throw ConfigurationError("MASTER_ADDR is empty");
        if (detail::is_unix(host)) {
            found.address = host;
        } else {
            const std::string port = std::to_string(number("MASTER_PORT", 1, 65535));
            const bool v6 = host.find(':') != std::string::npos && host.front() != '[';
            found.address = (v6 ? "[" + host + "]" : host) + ":" + port;
        }
        return found;
    }

    /// Joins that world. Deadlines and the like come from `options`. (A template, so that only programs that call it
    /// pay for compiling it.)
    template <class Link = Sockets>
    Link connect(SocketsOptions options = {}) const {
        options.rank = rank;
        options.world_size = world_size;
        options.address = address;
        return Link(options);
    }

    /// Joins that world and calls `work(Sockets)`; an exception that leaves it ends the work of all ranks.
    template <class Work>
    void run(const Work& work, const SocketsOptions& options = {}) const {
        Sockets link = connect<Sockets>(options);
        fail_together(link, [&] { work(link); });
    }

private:
    static std::string text(const char* name) {
        const char* const value = std::getenv(name);
        if (value == nullptr) throw ConfigurationError(std::string(name) + " is not set");
        return value;
    }

    static int number(const char* name, int low, int high) {
        const std::string value = text(name);
        int parsed = 0;
        const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), parsed);
        if (code != std::errc{} || end != value.data() + value.size() || parsed < low || parsed > high) {
            throw ConfigurationError(std::string(name) + "=\"" + value + "\" is not a whole number from " +
                                     std::to_string(low) + " to " + std::to_string(high));
        }
        return parsed;
    }
};

}  // namespace lockstep
