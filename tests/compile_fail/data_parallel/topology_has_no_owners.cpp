// SPDX-License-Identifier: MIT
// expect: DataParallel: the topology has no owns\(rank, world_size, chunk\)
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

struct Line {
    using scalar_type = float;
    std::span<float> parameters();
    std::span<float> gradients();
    Manifest manifest() const;
};
struct Ownerless {
    static constexpr const char* name = "star";
    static constexpr int chunks(int) { return 1; }
    template <class Emit>
    static constexpr void reduce(int, int, Emit&&) {}
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};
struct Star : Ownerless {
    static constexpr bool owns(int rank, int, int) { return rank == 0; }
};

constexpr std::size_t right = sizeof(DataParallel<Line, Star, Solo>);
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = sizeof(DataParallel<Line, Ownerless, Solo>);
#endif

int main() { return right == 0; }
