// SPDX-License-Identifier: MIT
// A topology of your own in one file. It sends nothing: it says which chunk goes where, and from that the library
// proves it right, counts its messages, and runs it over every transport.
#include <cstdio>
#include <vector>

#include <lockstep/lockstep.hpp>
#include <lockstep/topology/verify.hpp>

using namespace lockstep;

/// Ranks in a line. Sums flow from the last rank to rank 0 and the result flows back, in four chunks, so that rank r
/// passes on one chunk while it receives the next.
struct Chain {
    static constexpr const char* name = "chain";
    static constexpr int pieces = 4;

    static constexpr int chunks(int) { return pieces; }
    static constexpr bool owns(int rank, int, int) { return rank == 0; }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        flow(rank + 1 < world_size ? rank + 1 : -1, rank - 1, Fold::add, emit);
    }
    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        flow(rank - 1, rank + 1 < world_size ? rank + 1 : -1, Fold::copy, emit);
    }

private:
    /// Every chunk comes from one neighbour (-1: none) and goes on to the other one step later.
    template <class Emit>
    static constexpr void flow(int from, int to, Fold fold, Emit&& emit) {
        for (int step = 0; step <= pieces; ++step) {
            Step next{.fold = fold};
            if (from >= 0 && step < pieces) next.receive = {from, step, 1};
            if (to >= 0 && step > 0) next.send = {to, step - 1, 1};
            if (next.send.any() || next.receive.any()) emit(next);
        }
    }
};

// Every contribution reaches every element once, and nobody waits for ever: proved before the program exists.
static_assert(verified_to<Chain>(5));

int main() {
    for (int world_size = 1; world_size <= 64; ++world_size) {
        if (const Verdict verdict = verify<Chain>(world_size); !verdict) {
            std::printf("%s, %d ranks: %s\n", Chain::name, world_size, verdict.text().c_str());
            return 1;
        }
    }
    std::printf("%s: verified for 1 to 64 ranks\n", Chain::name);

    constexpr int world_size = 4;
    constexpr std::size_t elements = 1000;
    const auto work = [&](auto transport) {
        std::vector<float> values(elements, static_cast<float>(transport.rank() + 1));
        const Traffic before = transport.traffic();
        all_reduce<Chain>(transport, std::span(values));
        const std::uint64_t sent = transport.traffic().bytes - before.bytes;
        const std::uint64_t counted = counts_of<Chain>(transport.rank(), world_size, elements).elements_sent * 4;
        bool right = sent == counted;
        for (const float value : values) right = right && value == 1 + 2 + 3 + 4;
        if (!right) throw RemoteError("another sum, or another number of bytes", transport.rank());
        std::printf("rank %d: every element is %g; sent %llu bytes, as the schedule says\n", transport.rank(),
                    static_cast<double>(values[0]), static_cast<unsigned long long>(sent));
    };
    try {
        run_processes(world_size, [&](Sockets transport) { work(transport); });
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return 0;
}
