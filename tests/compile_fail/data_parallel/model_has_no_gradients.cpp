// SPDX-License-Identifier: MIT
// expect: DataParallel: the model has no gradients\(\) that is a span of scalar_type
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

struct Frozen {
    using scalar_type = float;
    std::span<float> parameters();
    Manifest manifest() const;
};
struct Trained : Frozen {
    std::span<float> gradients();
};
// Gradients that cannot be written to are none.
struct ReadOnly : Frozen {
    std::span<const float> gradients();
};

constexpr std::size_t right = sizeof(DataParallel<Trained, Ring, Solo>);
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = sizeof(DataParallel<ReadOnly, Ring, Solo>);
#endif

int main() { return right == 0; }
