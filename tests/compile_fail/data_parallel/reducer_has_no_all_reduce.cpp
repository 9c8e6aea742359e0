// SPDX-License-Identifier: MIT
// expect: DataParallel: the reducer is no topology and has no all_reduce\(transport, span\)
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

struct Line {
    using scalar_type = float;
    std::span<float> parameters();
    std::span<float> gradients();
    Manifest manifest() const;
};
struct Idle {};
struct Alone {
    template <class Link, class Scalar, class... Rest>
    void all_reduce(Link&, std::span<Scalar>, Rest&&...) {}
};

constexpr std::size_t right = sizeof(DataParallel<Line, Alone, Solo>);
#ifdef LOCKSTEP_FAIL
constexpr std::size_t wrong = sizeof(DataParallel<Line, Idle, Solo>);
#endif

int main() { return right == 0; }
