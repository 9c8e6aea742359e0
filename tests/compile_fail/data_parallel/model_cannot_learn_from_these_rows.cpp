// SPDX-License-Identifier: MIT
// The model is whole, but its batches are not those that it is given.
// expect: DataParallel: the model has no backward\(rows\) for these rows that returns a LossSum
#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/transport/solo.hpp>

using namespace lockstep;

struct Rows {
    std::size_t rows() const;
};
struct OtherRows {
    std::size_t rows() const;
};
struct Line {
    using scalar_type = float;
    std::span<float> parameters();
    std::span<float> gradients();
    Manifest manifest() const;
    LossSum backward(const Rows& rows);
};

MeanLoss right(DataParallel<Line, Ring, Solo>& replica) { return replica.backward_shard(Rows{}); }
#ifdef LOCKSTEP_FAIL
MeanLoss wrong(DataParallel<Line, Ring, Solo>& replica) { return replica.backward_shard(OtherRows{}); }
#endif
