// SPDX-License-Identifier: MIT
// A step with whatever adapters were asked for: one process is a job of one rank.
#include <lockstep/lockstep.hpp>

#include <cstdio>
#include <vector>

#ifdef WITH_EIGEN
#include <lockstep/adapters/eigen.hpp>
#endif
#ifdef WITH_CBLAS
#include <lockstep/adapters/cblas.hpp>
#else
using CblasGemm = lockstep::kernels::OwnGemm;
#endif
#ifdef WITH_MPI
#include <lockstep/adapters/mpi.hpp>
#include <lockstep/adapters/mpi_all_reduce.hpp>
#endif

using namespace lockstep;

using Net = Network<Sequential<Linear<2, 8, CblasGemm>, Tanh, Linear<8, 1, CblasGemm>>, MeanSquaredError>;

int main([[maybe_unused]] int count, [[maybe_unused]] char** arguments) {
#ifdef WITH_MPI
    const MpiSession session(count, arguments);
    Mpi link;
    DataParallel<Net, MpiAllReduce, Mpi> replica{Net{1}, link};
#else
    DataParallel<Net, Ring, Solo> replica{Net{1}, Solo{}};
#endif
    std::vector<float> inputs{1, 2, 3, 4, 5, 6};
    std::vector<float> targets{0.1F, 0.2F, 0.3F};
#ifdef WITH_EIGEN
    Eigen::Map<Eigen::Matrix<float, 3, 2, Eigen::RowMajor>> matrix(inputs.data());
    matrix /= 6;
    const auto rows = view_of(matrix);
#else
    const MatrixView<float> rows(inputs.data(), 3, 2);
#endif
    Sgd optimizer{{.learning_rate = 0.1}};
    double first = 0;
    double last = 0;
    for (int step = 0; step < 100; ++step) {
        last = replica.backward(Net::batch_type{rows, MatrixView<const float>(targets.data(), 3, 1)}).mean;
        replica.step(optimizer);
        if (step == 0) first = last;
    }
    std::printf("loss %.6f -> %.6f with adapters\n", first, last);
    return last < first / 10 ? 0 : 1;
}
