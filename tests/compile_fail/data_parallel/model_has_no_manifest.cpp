// SPDX-License-Identifier: MIT
// expect: DataParallel: the model has no manifest\(\) that names its parameters
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

struct Nameless {
    using scalar_type = float;
    std::span<float> parameters();
    std::span<float> gradients();
};
struct Named : Nameless {
    Manifest manifest() const;
};

constexpr std::size_t right = sizeof(DataParallel<Named, Ring, Solo>);
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = sizeof(DataParallel<Nameless, Ring, Solo>);
#endif

int main() { return right == 0; }
