// SPDX-License-Identifier: MIT
// expect: DataParallel: the transport has no fail\(failure\)
#include <lockstep/data_parallel/data_parallel.hpp>

using namespace lockstep;

struct Line {
    using scalar_type = float;
    std::span<float> parameters();
    std::span<float> gradients();
    Manifest manifest() const;
};
struct Careless {
    int rank() const;
    int world_size() const;
    Call begin(const Request& request);
    void exchange(const Call& call, Outgoing outgoing, Incoming incoming);
    Traffic traffic() const;
};
struct Careful : Careless {
    void fail(const Failure& failure);
};

constexpr std::size_t right = sizeof(DataParallel<Line, Ring, Careful>);
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = sizeof(DataParallel<Line, Ring, Careless>);
#endif

int main() { return right == 0; }
