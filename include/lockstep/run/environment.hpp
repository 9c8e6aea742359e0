// SPDX-License-Identifier: MIT
/// @file
/// Which rank of which world this process is, as its launcher says in environment variables.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/digest.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/run/launchers.hpp>
#include <lockstep/transport/sockets.hpp>

namespace lockstep {

/// Rank and world size are those of the first launcher that has set its variables: RANK and WORLD_SIZE (torchrun, and
/// whoever starts ranks by hand), Open MPI's mpirun, MPICH's, Slurm's srun.
///
/// Rank 0 is met at MASTER_ADDR and MASTER_PORT. MASTER_ADDR may also be "unix:/path", a Unix domain socket, for which
/// the port is not needed. Where RANK is not set, the port is 29500 unless MASTER_PORT says otherwise, and the host this
/// one if all ranks are on it, or Slurm's first.
struct LaunchEnvironment {
    int rank = 0;
    int world_size = 1;
    int local_rank = 0;     ///< among the ranks of this host; 0 if the launcher does not say
    std::string address;    ///< "host:port" or "unix:/path", as SocketsOptions has it
    std::uint64_t job = 0;  ///< torchrun gives every start of a job another
    std::string reason;     ///< which variables say so

    /// Has somebody launched us as a rank of a world?
    static bool present() {
        for (const detail::Launcher& each : detail::launchers) {
            if (each.present()) return true;
        }
        return false;
    }

    /// Reads and checks all variables; opens nothing.
    /// @throws ConfigurationError naming the variable and its value, or two variables that contradict each other
    static LaunchEnvironment from_env() {
        const detail::Launcher* launcher = &detail::launchers.front();
        for (std::size_t index = detail::launchers.size(); index-- > 0;) {
            if (detail::launchers[index].present()) launcher = &detail::launchers[index];
        }
        LaunchEnvironment found = who(*launcher);
        refuse_contradictions(*launcher, found);
        found.meet(*launcher);
        found.job = job_of({"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"});
        return found;
    }

    /// `rank 1 of 4, meeting at 127.0.0.1:29500 (Open MPI: OMPI_COMM_WORLD_RANK=1, ...)`
    std::string text() const {
        return "rank " + std::to_string(rank) + " of " + std::to_string(world_size) + ", meeting at " + address + " (" +
               reason + ")";
    }

    /// Joins that world. Deadlines and the like come from `options`; the secret too, or else from LOCKSTEP_SECRET, and
    /// the name of the record of a failure, or else from LOCKSTEP_RECORD.
    /// (A template, so that only programs that call it pay for compiling it.)
    template <class Link = Sockets>
    Link connect(SocketsOptions options = {}) const {
        options.rank = rank;
        options.world_size = world_size;
        options.address = address;
        if (options.job == 0) options.job = job;
        const char* const secret = std::getenv("LOCKSTEP_SECRET");
        if (options.secret.empty() && secret != nullptr) options.secret = secret;
        const char* const insecure = std::getenv("LOCKSTEP_INSECURE");
        const char* const record = std::getenv("LOCKSTEP_RECORD");
        if (options.record.empty() && record != nullptr) options.record = record;
        options.insecure = options.insecure || (insecure != nullptr && std::string_view(insecure) == "1");
        return Link(options);
    }

    /// Joins that world and calls `work(Sockets)`; an exception that leaves it ends the work of all ranks.
    template <class Work>
    void run(const Work& work, const SocketsOptions& options = {}) const {
        Sockets link = connect<Sockets>(options);
        fail_together(link, [&] { work(link); });
    }

private:
    /// 0 if none of these variables is set.
    static std::uint64_t job_of(std::initializer_list<const char*> variables) {
        std::string text;
        for (const char* const name : variables) {
            const char* const value = std::getenv(name);
            if (value != nullptr) text += std::string(name) + "=" + value + " ";
        }
        return text.empty() ? 0 : lockstep::digest(std::as_bytes(std::span(text)));
    }

    static LaunchEnvironment who(const detail::Launcher& launcher) {
        LaunchEnvironment found;
        found.world_size = detail::number_variable(launcher.world_size, 1, 1'000'000);
        found.rank = detail::number_variable(launcher.rank, 0, 999'999);
        if (found.rank >= found.world_size) {
            throw ConfigurationError(std::string(launcher.rank) + "=" + std::to_string(found.rank) +
                                     " is not less than " + launcher.world_size + "=" +
                                     std::to_string(found.world_size));
        }
        if (std::getenv(launcher.local_rank) != nullptr) {
            found.local_rank = detail::number_variable(launcher.local_rank, 0, 999'999);
        }
        found.reason = std::string(launcher.name) + ": " + launcher.rank + "=" + std::to_string(found.rank) + ", " +
                       launcher.world_size + "=" + std::to_string(found.world_size);
        return found;
    }

    /// RANK in the shell from which mpirun was called is the same for all ranks: they would all be that one. Not so under
    /// torchrun, which may itself be started by mpirun, once a host; and Slurm's steps contain other launchers as a rule.
    static void refuse_contradictions(const detail::Launcher& chosen, const LaunchEnvironment& found) {
        if (&chosen != &detail::launchers.front() || std::getenv("TORCHELASTIC_RUN_ID") != nullptr) return;
        for (const detail::Launcher& other : detail::launchers) {
            if (&other == &chosen || !other.present() || other.only_if != nullptr) continue;
            const LaunchEnvironment theirs = who(other);
            const auto refuse = [&](const char* ours, int value, const char* theirs_name, int their_value) {
                throw ConfigurationError(std::string(ours) + "=" + std::to_string(value) + " and " + theirs_name + "=" +
                                         std::to_string(their_value) + " contradict each other; unset one of them");
            };
            if (theirs.rank != found.rank) refuse(chosen.rank, found.rank, other.rank, theirs.rank);
            if (theirs.world_size != found.world_size) {
                refuse(chosen.world_size, found.world_size, other.world_size, theirs.world_size);
            }
        }
    }

    /// Where rank 0 is.
    void meet(const detail::Launcher& launcher) {
        const bool by_hand = &launcher == &detail::launchers.front();
        std::string host;
        if (by_hand || std::getenv("MASTER_ADDR") != nullptr) {
            host = detail::variable("MASTER_ADDR");
            if (host.empty()) throw ConfigurationError("MASTER_ADDR is empty");
        } else {
            host = usual_host(launcher);
        }
        if (detail::is_unix(host)) {
            address = host;
            return;
        }
        int port = 29500;
        if (by_hand || std::getenv("MASTER_PORT") != nullptr) port = detail::number_variable("MASTER_PORT", 1, 65535);
        const char* const store = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
        if (by_hand && store != nullptr && std::string_view(store) == "True") {
            // torchrun itself listens at MASTER_PORT, for the store of PyTorch's workers.
            port = port < 65535 ? port + 1 : port - 1;
            reason += ", TORCHELASTIC_USE_AGENT_STORE=True: the port beside MASTER_PORT";
        }
        const bool v6 = host.find(':') != std::string::npos && host.front() != '[';
        address = (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }

    std::string usual_host(const detail::Launcher& launcher) {
        if (launcher.local_size != nullptr && std::getenv(launcher.local_size) != nullptr &&
            detail::number_variable(launcher.local_size, 1, 1'000'000) == world_size) {
            reason += std::string(", ") + launcher.local_size + "=" + std::to_string(world_size);
            return "127.0.0.1";
        }
        const char* const count = std::getenv("SLURM_STEP_NUM_NODES");
        if (launcher.only_if != nullptr && count != nullptr && std::string_view(count) == "1") {
            reason += ", SLURM_STEP_NUM_NODES=1";
            return "127.0.0.1";
        }
        const char* const nodes = std::getenv("SLURM_STEP_NODELIST");
        if (launcher.only_if != nullptr && nodes != nullptr && *nodes != 0) {
            reason += std::string(", SLURM_STEP_NODELIST=") + nodes;
            return detail::first_host(nodes);
        }
        throw ConfigurationError(std::string("MASTER_ADDR is not set, and ranks started by ") + launcher.name +
                                 " are on several hosts: it is the host of rank 0");
    }
};

}  // namespace lockstep
