// SPDX-License-Identifier: MIT
#include <lockstep/run/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/storage/shared_memory.hpp>
#include <lockstep/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include "support/descriptors.hpp"
#include "support/free_port.hpp"
#include "support/messages.hpp"
#include "support/tmpdir.hpp"

namespace {

using lockstep::ErrorKind;
using lockstep::LaunchEnvironment;
using lockstep::Seconds;
using lockstep::Sockets;

/// The four variables; null for one that is not set.
struct Variables {
    const char* rank;
    const char* world_size;
    const char* address;
    const char* port;

    void set() const {
        const auto put = [](const char* name, const char* value) {
            if (value != nullptr) ::setenv(name, value, 1);
            else ::unsetenv(name);
        };
        put("RANK", rank);
        put("WORLD_SIZE", world_size);
        put("MASTER_ADDR", address);
        put("MASTER_PORT", port);
    }
};

LaunchEnvironment read(const Variables& variables) {
    variables.set();
    return LaunchEnvironment::from_env();
}

struct NothingSet {
    NothingSet() { unset(); }
    ~NothingSet() { unset(); }

    static void unset() {
        Variables{nullptr, nullptr, nullptr, nullptr}.set();
        for (const auto& each : lockstep::detail::launchers) {
            for (const char* const name :
                 {each.rank, each.world_size, each.local_rank, each.local_size, each.only_if}) {
                if (name != nullptr) ::unsetenv(name);
            }
        }
        for (const char* const name : {"SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES", "TORCHELASTIC_RUN_ID",
                                       "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_USE_AGENT_STORE"})
            ::unsetenv(name);
    }
};

BOOST_FIXTURE_TEST_SUITE(environment, NothingSet)

BOOST_AUTO_TEST_CASE(a_rank_or_a_world_size_says_that_we_were_launched) {
    BOOST_TEST(!LaunchEnvironment::present());
    Variables{"0", nullptr, nullptr, nullptr}.set();
    BOOST_TEST(LaunchEnvironment::present());
    Variables{nullptr, "1", nullptr, nullptr}.set();
    BOOST_TEST(LaunchEnvironment::present());
    // Others have these set for reasons of their own.
    Variables{nullptr, nullptr, "127.0.0.1", "29500"}.set();
    BOOST_TEST(!LaunchEnvironment::present());
}

BOOST_AUTO_TEST_CASE(good_values_are_taken) {
    struct Case {
        Variables variables;
        int rank, world_size;
        const char* address;
    };
    for (const Case& good : {Case{{"3", "4", "10.0.0.1", "29500"}, 3, 4, "10.0.0.1:29500"},
                             Case{{"0", "1", "localhost", "1"}, 0, 1, "localhost:1"},
                             Case{{"007", "1000000", "node-1.cluster", "65535"}, 7, 1'000'000, "node-1.cluster:65535"},
                             Case{{"1", "2", "::1", "29500"}, 1, 2, "[::1]:29500"},
                             Case{{"1", "2", "fe80::1%eth0", "29500"}, 1, 2, "[fe80::1%eth0]:29500"},
                             Case{{"1", "2", "[::1]", "29500"}, 1, 2, "[::1]:29500"},
                             Case{{"1", "2", "unix:/tmp/job", nullptr}, 1, 2, "unix:/tmp/job"},
                             Case{{"1", "2", "unix:/tmp/job", "none"}, 1, 2, "unix:/tmp/job"}}) {
        const LaunchEnvironment found = read(good.variables);
        BOOST_TEST(found.rank == good.rank);
        BOOST_TEST(found.world_size == good.world_size);
        BOOST_TEST(found.address == good.address);
    }
}

BOOST_AUTO_TEST_CASE(bad_values_are_errors_that_name_the_variable_and_the_value) {
    struct Case {
        Variables variables;
        const char* part;
    };
    const char* const here = "127.0.0.1";
    const std::size_t descriptors = test::open_descriptors();
    for (const Case& bad : {Case{{"0", "4", here, "66660"}, "MASTER_PORT=\"66660\""},
                            Case{{"0", "4", here, "29500abc"}, "\"29500abc\""},
                            Case{{"0", "4", here, ""}, "MASTER_PORT=\"\""},
                            Case{{"0", "4", here, "-1"}, "MASTER_PORT=\"-1\""},
                            Case{{"0", "4", here, "0"}, "MASTER_PORT=\"0\""},
                            Case{{"0", "4", here, " 80"}, "MASTER_PORT=\" 80\""},
                            Case{{"0", "4", here, nullptr}, "MASTER_PORT is not set"},
                            Case{{"0", "0", here, "29500"}, "WORLD_SIZE=\"0\""},
                            Case{{"0", "4x", here, "29500"}, "WORLD_SIZE=\"4x\""},
                            Case{{"0", "99999999999", here, "29500"}, "WORLD_SIZE=\"99999999999\""},
                            Case{{"0", "-4", here, "29500"}, "WORLD_SIZE=\"-4\""},
                            Case{{"0", "", here, "29500"}, "WORLD_SIZE=\"\""},
                            Case{{"0", nullptr, here, "29500"}, "WORLD_SIZE is not set"},
                            Case{{"-1", "4", here, "29500"}, "RANK=\"-1\""},
                            Case{{"1.5", "4", here, "29500"}, "RANK=\"1.5\""},
                            Case{{"", "4", here, "29500"}, "RANK=\"\""},
                            Case{{nullptr, "4", here, "29500"}, "RANK is not set"},
                            Case{{"4", "4", here, "29500"}, "RANK=4 is not less than WORLD_SIZE=4"},
                            Case{{"0", "4", nullptr, "29500"}, "MASTER_ADDR is not set"},
                            Case{{"0", "4", "", "29500"}, "MASTER_ADDR is empty"}}) {
        test::check_error(test::outcome_of([&] { read(bad.variables); }), ErrorKind::configuration, {bad.part});
    }
    BOOST_TEST(test::open_descriptors() == descriptors);
}

using Pairs = std::vector<std::pair<const char*, const char*>>;

/// Only these variables are set.
LaunchEnvironment read(const Pairs& variables) {
    NothingSet::unset();
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    return LaunchEnvironment::from_env();
}

const Pairs open_mpi{{"OMPI_COMM_WORLD_RANK", "2"},
                     {"OMPI_COMM_WORLD_SIZE", "4"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Pairs mpich{{"PMI_RANK", "1"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "3"}};
const Pairs slurm{{"SLURM_PROCID", "5"},
                  {"SLURM_NTASKS", "8"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_STEP_ID", "0"},
                  {"SLURM_STEP_NODELIST", "node[07-10]-ib,node12"}};

Pairs operator+(Pairs left, const Pairs& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

BOOST_AUTO_TEST_CASE(launchers_are_understood) {
    struct Case {
        Pairs variables;
        int rank, world_size, local_rank;
        const char* address;
    };
    for (const Case& good : {Case{open_mpi, 2, 4, 2, "127.0.0.1:29500"},
                             Case{open_mpi + Pairs{{"MASTER_PORT", "4000"}}, 2, 4, 2, "127.0.0.1:4000"},
                             Case{mpich + Pairs{{"MASTER_ADDR", "head"}}, 1, 6, 1, "head:29500"},
                             Case{mpich + Pairs{{"MASTER_ADDR", "unix:/tmp/job"}}, 1, 6, 1, "unix:/tmp/job"},
                             Case{slurm, 5, 8, 1, "node07-ib:29500"},
                             Case{slurm + Pairs{{"MASTER_ADDR", "10.1.2.3"}}, 5, 8, 1, "10.1.2.3:29500"},
                             Case{slurm + Pairs{{"SLURM_STEP_NUM_NODES", "1"}}, 5, 8, 1, "127.0.0.1:29500"},
                             // Slurm sets MPICH's variables itself.
                             Case{slurm + Pairs{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}, 5, 8, 1, "node07-ib:29500"},
                             // mpirun inside of a Slurm step: its ranks are those of mpirun.
                             Case{slurm + open_mpi, 2, 4, 2, "127.0.0.1:29500"},
                             // torchrun, once a host, started by mpirun.
                             Case{open_mpi + Pairs{{"RANK", "9"},
                                                   {"WORLD_SIZE", "16"},
                                                   {"LOCAL_RANK", "1"},
                                                   {"MASTER_ADDR", "head"},
                                                   {"MASTER_PORT", "1"},
                                                   {"TORCHELASTIC_RUN_ID", "none"}},
                                  9, 16, 1, "head:1"}}) {
        const LaunchEnvironment found = read(good.variables);
        BOOST_TEST(LaunchEnvironment::present());
        BOOST_TEST(found.rank == good.rank);
        BOOST_TEST(found.world_size == good.world_size);
        BOOST_TEST(found.local_rank == good.local_rank);
        BOOST_TEST(found.address == good.address);
    }
    BOOST_TEST(read(open_mpi).text() ==
               "rank 2 of 4, meeting at 127.0.0.1:29500 (Open MPI: OMPI_COMM_WORLD_RANK=2, OMPI_COMM_WORLD_SIZE=4, "
               "OMPI_COMM_WORLD_LOCAL_SIZE=4)");
    BOOST_TEST(read(slurm).reason ==
               "Slurm: SLURM_PROCID=5, SLURM_NTASKS=8, SLURM_STEP_NODELIST=node[07-10]-ib,node12");
}

BOOST_AUTO_TEST_CASE(where_torchrun_listens_itself_the_port_beside_it_is_taken) {
    const Pairs torchrun{{"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "none"},
                         {"TORCHELASTIC_RESTART_COUNT", "0"}};
    const Pairs store{{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
    BOOST_TEST(read(torchrun).address == "127.0.0.1:29500");
    BOOST_TEST(read(torchrun + Pairs{{"TORCHELASTIC_USE_AGENT_STORE", "False"}}).address == "127.0.0.1:29500");
    BOOST_TEST(read(torchrun + store).address == "127.0.0.1:29501");
    BOOST_TEST(read(torchrun + store).reason.ends_with("the port beside MASTER_PORT"));
    BOOST_TEST(read(torchrun + store + Pairs{{"MASTER_PORT", "65535"}}).address == "127.0.0.1:65534");
    // Every start of a job is another one.
    BOOST_TEST(read(open_mpi).job == 0U);
    BOOST_TEST(read(torchrun).job != 0U);
    BOOST_TEST(read(torchrun).job == read(torchrun + Pairs{{"RANK", "0"}}).job);
    BOOST_TEST(read(torchrun).job != read(torchrun + Pairs{{"TORCHELASTIC_RESTART_COUNT", "1"}}).job);
}

BOOST_AUTO_TEST_CASE(a_batch_script_is_no_rank) {
    NothingSet::unset();
    ::setenv("SLURM_PROCID", "0", 1);
    ::setenv("SLURM_NTASKS", "8", 1);
    BOOST_TEST(!LaunchEnvironment::present());
}

BOOST_AUTO_TEST_CASE(contradictions_and_gaps_are_errors_that_name_the_variables) {
    const Pairs by_hand{{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}};
    struct Case {
        Pairs variables;
        const char* part;
    };
    for (const Case& bad :
         {Case{by_hand + open_mpi, "RANK=0 and OMPI_COMM_WORLD_RANK=2 contradict each other"},
          Case{by_hand + Pairs{{"PMI_RANK", "0"}, {"PMI_SIZE", "6"}}, "WORLD_SIZE=4 and PMI_SIZE=6 contradict"},
          Case{mpich, "MASTER_ADDR is not set, and ranks started by MPICH are on several hosts"},
          Case{open_mpi + Pairs{{"OMPI_COMM_WORLD_RANK", "4"}}, "OMPI_COMM_WORLD_RANK=4 is not less than"},
          Case{open_mpi + Pairs{{"OMPI_COMM_WORLD_LOCAL_SIZE", "x"}}, "OMPI_COMM_WORLD_LOCAL_SIZE=\"x\""},
          Case{open_mpi + Pairs{{"MASTER_PORT", "0"}}, "MASTER_PORT=\"0\""},
          Case{{{"PMI_RANK", "0"}}, "PMI_SIZE is not set"},
          Case{{{"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}}, "SLURM_PROCID is not set"}}) {
        test::check_error(test::outcome_of([&] { read(bad.variables); }), ErrorKind::configuration, {bad.part});
    }
}

BOOST_AUTO_TEST_CASE(the_first_host_of_a_list) {
    using lockstep::detail::first_host;
    BOOST_TEST(first_host("node1") == "node1");
    BOOST_TEST(first_host("a,b") == "a");
    BOOST_TEST(first_host("node[07-12,15],other") == "node07");
    BOOST_TEST(first_host("rack1-[3,5]") == "rack1-3");
    BOOST_TEST(first_host("n[1-2]-ib,x") == "n1-ib");
    BOOST_TEST(first_host("r[1-2]n[3,4]") == "r1n3");
    BOOST_TEST(first_host("") == "");
}

BOOST_AUTO_TEST_CASE(a_world_of_one_meets_nobody) {
    int runs = 0;
    read(Variables{"0", "1", "no-such-host.invalid", "29500"}).run([&](Sockets& link) {
        BOOST_TEST(link.world_size() == 1);
        ++runs;
    });
    BOOST_TEST(runs == 1);
}

// ---- Jobs of several processes ------------------------------------------------------------------------------

/// What the error of each process says, started with these variables; nothing for one that ended well.
template <class Work>
std::vector<std::string> run_job(const std::vector<Variables>& job, const Work& work) {
    constexpr std::size_t room = 1000;
    lockstep::SharedMemory::buffer<char> texts(job.size() * room);
    std::vector<pid_t> children;
    for (std::size_t index = 0; index < job.size(); ++index) {
        const pid_t child = ::fork();
        if (child == 0) {
            const auto outcome = test::outcome_of([&] {
                const lockstep::SocketsOptions options{.timeout = Seconds{5}, .join_timeout = Seconds{1.5}};
                read(job[index]).run(work, options);
            });
            std::strncpy(texts.data() + index * room, outcome.message.c_str(), room - 1);
            ::_exit(0);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    std::vector<std::string> results;
    for (std::size_t index = 0; index < job.size(); ++index) results.emplace_back(texts.data() + index * room);
    return results;
}

void sum_up(Sockets& link) {
    const int world = link.world_size();
    std::vector<float> values(100, static_cast<float>(1 << link.rank()));
    lockstep::all_reduce<lockstep::Ring>(link, std::span(values));
    test::expect(values == std::vector<float>(100, static_cast<float>((1 << world) - 1)), "sum");
}

/// Calls `body` with a place to meet of either kind: the values of MASTER_ADDR and MASTER_PORT.
template <class Body>
void at_each_place(const Body& body) {
    const test::FreePort port;
    body("127.0.0.1", port.number().c_str());
    const test::OwnTmpdir tmpdir;
    const std::string name = "unix:" + tmpdir.path() + "/socket";
    body(name.c_str(), nullptr);
    for (const char* const suffix : {"", ".1", ".2", ".3"}) lockstep::detail::remove_name(name + suffix);
}

BOOST_AUTO_TEST_CASE(processes_with_right_variables_are_a_world) {
    at_each_place([](const char* address, const char* port) {
        const auto texts =
            run_job({{"2", "3", address, port}, {"0", "3", address, port}, {"1", "3", address, port}}, sum_up);
        for (const std::string& text : texts) BOOST_TEST(text == "");
    });
}

BOOST_AUTO_TEST_CASE(the_secret_is_taken_from_the_environment) {
    at_each_place([](const char* address, const char* port) {
        ::setenv("LOCKSTEP_SECRET", "open sesame", 1);
        for (const auto& text : run_job({{"0", "2", address, port}, {"1", "2", address, port}}, sum_up))
            BOOST_TEST(text == "");
        ::unsetenv("LOCKSTEP_SECRET");
    });
    // 10.0.0.0 is nobody's address: without the one or the other, it is not even tried.
    const auto outcome = [] {
        return test::outcome_of([] {
                   read(Variables{"0", "2", "10.0.0.0", "29500"}).connect({.join_timeout = Seconds{0.1}});
               })
            .message;
    };
    BOOST_TEST(outcome().find("anyone who reaches 10.0.0.0:29500 could join") == 0U, outcome());
    for (const char* const name : {"LOCKSTEP_SECRET", "LOCKSTEP_INSECURE"}) {
        ::setenv(name, "1", 1);
        BOOST_TEST(outcome().find("could join") == std::string::npos, outcome());
        ::unsetenv(name);
    }
}

BOOST_AUTO_TEST_CASE(what_one_process_throws_ends_the_work_of_all) {
    at_each_place([](const char* address, const char* port) {
        const auto texts = run_job({{"0", "2", address, port}, {"1", "2", address, port}}, [](Sockets& link) {
            if (link.rank() == 1) throw std::runtime_error("bad row 7");
            sum_up(link);
        });
        BOOST_TEST(texts[0] == "rank 1: bad row 7");
        BOOST_TEST(texts[1] == "bad row 7");
    });
}

bool any_says(const std::vector<std::string>& texts, const std::string& part) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(ranks_claimed_twice_are_an_error_in_every_process) {
    // As when ranks within a node are taken for ranks of the whole job.
    at_each_place([](const char* address, const char* port) {
        const auto texts = run_job({{"0", "4", address, port},
                                    {"1", "4", address, port},
                                    {"0", "4", address, port},
                                    {"1", "4", address, port}},
                                   sum_up);
        for (const std::string& text : texts) BOOST_TEST(text != "");
        BOOST_TEST(any_says(texts, "claimed twice"),
                   texts[0] << " / " << texts[1] << " / " << texts[2] << " / " << texts[3]);
    });
}

BOOST_AUTO_TEST_CASE(another_world_size_in_one_process_is_an_error_in_every_process) {
    at_each_place([](const char* address, const char* port) {
        const auto texts = run_job({{"0", "4", address, port},
                                    {"1", "4", address, port},
                                    {"2", "3", address, port},
                                    {"3", "4", address, port}},
                                   sum_up);
        for (const std::string& text : texts) BOOST_TEST(text != "");
        for (const std::size_t told : {0U, 2U}) {
            BOOST_TEST(texts[told] == "rank 0 expects a world of 4 ranks, rank 2 says 3");
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
