// SPDX-License-Identifier: MIT
// Contender: lockstep. `peer_lockstep TRANSPORT TOPOLOGY WORLD`, or `--list`.
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/collectives/fused.hpp>
#include <lockstep/run/processes.hpp>
#include <lockstep/run/threads.hpp>
#include <lockstep/storage/shared_memory.hpp>
#include <lockstep/topology/circulant.hpp>
#include <lockstep/topology/direct.hpp>
#include <lockstep/topology/double_tree.hpp>
#include <lockstep/topology/halving_doubling.hpp>
#include <lockstep/topology/hierarchical.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/pipelined.hpp>
#include <lockstep/topology/recursive_doubling.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/shared_memory.hpp>

#include "contender.hpp"

namespace {

template <class Strategy, class Link, class Buffer>
class Lockstep : public peers::AllReduceOf<Buffer> {
public:
    explicit Lockstep(Link& link) : peers::AllReduceOf<Buffer>(link.rank(), link.world_size()), link_(link) {}
    void run() { lockstep::all_reduce<Strategy>(link_, this->values()); }

private:
    Link& link_;
};

template <class Strategy, class Buffer = peers::Floats, class Link>
void serve(peers::Board& board, Link& link) {
    Lockstep<Strategy, Link, Buffer> work(link);
    peers::serve(board, work);
}

template <class Strategy>
void over_threads(int world_size) {
    peers::Board board(world_size);
    lockstep::run_threads(world_size, [&](lockstep::Threads link) { serve<Strategy>(board, link); });
}

template <class Strategy, lockstep::LocalSockets Kind>
void over_sockets(int world_size) {
    peers::Board& board = peers::shared_board(world_size);
    lockstep::ProcessesOptions options;
    options.sockets = Kind;
    lockstep::run_processes(
        world_size, [&](lockstep::Sockets link) { serve<Strategy>(board, link); }, options);
}

/// Floats that other processes can reach.
class SharedFloats {
public:
    std::span<float> resize(std::size_t size) {
        if (size != values().size()) buffer_.emplace(size);
        return values();
    }
    std::span<float> values() {
        return buffer_ ? std::span<float>(buffer_->data(), buffer_->size()) : std::span<float>();
    }
    std::span<float> values() const { return const_cast<SharedFloats&>(*this).values(); }

private:
    std::optional<lockstep::SharedMemory::buffer<float>> buffer_;
};

template <class Strategy>
void over_shared_memory(int world_size) {
    peers::Board& board = peers::shared_board(world_size);
    lockstep::run_processes<lockstep::SharedMemoryTransport>(
        world_size, [&](lockstep::SharedMemoryTransport link) { serve<Strategy, SharedFloats>(board, link); });
}

struct Row {
    std::string transport;
    std::string topology;
    void (*run)(int world_size);
};

template <class... Shapes>
std::vector<Row> every_transport() {
    std::vector<Row> rows;
    (rows.push_back({"threads", Shapes::name, over_threads<Shapes>}), ...);
    (rows.push_back({"tcp", Shapes::name, over_sockets<Shapes, lockstep::LocalSockets::tcp>}), ...);
    (rows.push_back({"unix", Shapes::name, over_sockets<Shapes, lockstep::LocalSockets::unix_domain>}), ...);
    return rows;
}

/// All that can be asked for. A topology that runs over every transport goes into the list; one that does not, and a
/// transport of its own kind, is a row added below: `rows.push_back({"threads", "name", over_threads<Name>});`
std::vector<Row> table() {
    using namespace lockstep;
    std::vector<Row> rows = every_transport<Naive, Tree, Ring, RecursiveDoubling, HalvingDoubling, Direct, Circulant,
                                            DoubleTree, Pipelined<Tree>, Hierarchical<Ring, Ring, 2>>();
    rows.push_back({"threads", Fused::name, over_threads<Fused>});
    rows.push_back({"shared_memory", Fused::name, over_shared_memory<Fused>});
    return rows;
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const std::vector<Row> rows = table();
    if (words == std::vector<std::string>{"--list"}) {
        for (const Row& row : rows) std::printf("%s %s\n", row.transport.c_str(), row.topology.c_str());
        return 0;
    }
    for (const Row& row : rows) {
        if (words.size() == 3 && words[0] == row.transport && words[1] == row.topology) {
            row.run(std::stoi(words[2]));
            return 0;
        }
    }
    std::fprintf(stderr, "usage: peer_lockstep TRANSPORT TOPOLOGY WORLD, or peer_lockstep --list\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "peer_lockstep: %s\n", error.what());
    return 1;
}
