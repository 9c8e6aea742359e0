// SPDX-License-Identifier: MIT
// Contender: MPI_Allreduce of whichever MPI this is compiled with. `mpirun -n WORLD peer_openmpi` or `peer_mpich`.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <mpi.h>

#include "contender.hpp"

namespace {

class Mpi : public peers::AllReduce {
public:
    using AllReduce::AllReduce;

    void run() {
        MPI_Allreduce(MPI_IN_PLACE, values().data(), static_cast<int>(values().size()), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    }

    /// A message may have been handed to the library only: it leaves when the library is called.
    void progress() {
        int flag = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
};

/// A Board in memory that rank 0 makes and the others find by the number of its process.
peers::Board& common_board(int rank, int world_size) {
    int process = ::getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::string name = "/lockstep-peers-" + std::to_string(process);
    const auto map = [&](int flags) {
        const int file = ::shm_open(name.c_str(), flags, 0600);
        if (file < 0 || ::ftruncate(file, sizeof(peers::Board)) != 0) throw std::runtime_error("shm_open " + name);
        void* const memory = ::mmap(nullptr, sizeof(peers::Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ::close(file);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap " + name);
        return memory;
    };
    peers::Board* board = nullptr;
    if (rank == 0) board = new (map(O_RDWR | O_CREAT | O_EXCL)) peers::Board(world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) board = static_cast<peers::Board*>(map(O_RDWR));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) ::shm_unlink(name.c_str());
    return *board;
}

}  // namespace

int main(int count, char** arguments) {
    MPI_Init(&count, &arguments);
    int rank = 0;
    int world_size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    try {
        Mpi work(rank, world_size);
        peers::serve(common_board(rank, world_size), work);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
