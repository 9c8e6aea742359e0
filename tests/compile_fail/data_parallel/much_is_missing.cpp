// SPDX-License-Identifier: MIT
// Model, topology and transport each lack something: one compilation names it all.
// expect: DataParallel: the model has no gradients\(\) that is a span of scalar_type
// expect: DataParallel: the model has no manifest\(\) that names its parameters
// expect: DataParallel: the topology has no owns\(rank, world_size, chunk\)
// expect: DataParallel: the topology has no reduce\(rank, world_size, emit\)
// expect: DataParallel: the transport has no fail\(failure\)
// expect: DataParallel: the transport has no traffic\(\) that returns a Traffic
#include <lockstep/data_parallel/data_parallel.hpp>

using namespace lockstep;

struct HalfModel {
    using scalar_type = float;
    std::span<float> parameters();
};
struct WholeModel : HalfModel {
    std::span<float> gradients();
    Manifest manifest() const;
};

struct HalfTopology {
    static constexpr const char* name = "star";
    static constexpr int chunks(int) { return 1; }
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};
struct WholeTopology : HalfTopology {
    static constexpr bool owns(int rank, int, int) { return rank == 0; }
    template <class Emit>
    static constexpr void reduce(int, int, Emit&&) {}
};

struct HalfTransport {
    int rank() const;
    int world_size() const;
    Call begin(const Request& request);
    void exchange(const Call& call, Outgoing outgoing, Incoming incoming);
};
struct WholeTransport : HalfTransport {
    void fail(const Failure& failure);
    Traffic traffic() const;
};

constexpr std::size_t right = sizeof(DataParallel<WholeModel, WholeTopology, WholeTransport>);
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = sizeof(DataParallel<HalfModel, HalfTopology, HalfTransport>);
#endif

int main() { return right == 0; }
