// SPDX-License-Identifier: MIT
// The matrix product against OpenBLAS on one thread: ratios of medians from alternating blocks, then single
// figures.
#include <lockstep/kernels/gemm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#ifdef LOCKSTEP_HAVE_CBLAS
#include <cblas.h>
#endif

#include <lockstep/core/random.hpp>

namespace {

using lockstep::Isa;
using lockstep::MatrixView;

struct Shape {
    std::size_t m;
    std::size_t n;
    std::size_t k;
    bool a_transposed;
    bool b_transposed;

    std::string name() const {
        return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + "/" +
               (a_transposed ? "T" : "N") + (b_transposed ? "T" : "N");
    }
    double operations() const { return 2.0 * static_cast<double>(m * n * k); }
};

// A multilayer perceptron 784-512-256-10 at batch 128 (forward NT, input gradient NN, weight gradient TN), a
// small one 64-32-10 at batch 32, squares, and what a vector's width does not divide.
constexpr Shape shapes[] = {
    {128, 512, 784, false, true},  {128, 512, 784, false, false}, {512, 784, 128, true, false},
    {128, 256, 512, false, true},  {128, 10, 256, false, true},   {10, 256, 128, true, false},
    {128, 256, 10, false, false},  {32, 32, 64, false, true},     {32, 10, 32, false, true},
    {128, 128, 128, false, false}, {256, 256, 256, false, false}, {32, 32, 32, false, false},
    {24, 24, 24, false, false},    {512, 512, 512, false, false}, {512, 512, 512, false, true},
    {512, 512, 512, true, false},  {64, 64, 64, false, false},    {1024, 1024, 1024, false, false},
    {100, 100, 100, false, false}, {16, 16, 16, false, false},    {8, 8, 8, false, false},
    {1, 512, 784, false, true},
};

/// Operands of one shape, and a result for each contender.
template <class Scalar>
struct Problem {
    explicit Problem(const Shape& of)
        : shape(of), a(of.m * of.k), b(of.k * of.n), ours(of.m * of.n), theirs(of.m * of.n) {
        lockstep::Random random(1);
        for (Scalar& value : a) value = static_cast<Scalar>(random.uniform(-1, 1));
        for (Scalar& value : b) value = static_cast<Scalar>(random.uniform(-1, 1));
    }

    void run_ours(Isa isa = lockstep::widest_isa()) {
        using View = MatrixView<const Scalar>;
        const View left =
            shape.a_transposed ? View(a.data(), shape.k, shape.m).transposed() : View(a.data(), shape.m, shape.k);
        const View right =
            shape.b_transposed ? View(b.data(), shape.n, shape.k).transposed() : View(b.data(), shape.k, shape.n);
        lockstep::kernels::gemm(left, right, MatrixView<Scalar>(ours.data(), shape.m, shape.n),
                                lockstep::kernels::Accumulate::no, isa);
        benchmark::DoNotOptimize(ours.data());
        benchmark::ClobberMemory();
    }

#ifdef LOCKSTEP_HAVE_CBLAS
    void run_theirs() {
        const auto a_form = shape.a_transposed ? CblasTrans : CblasNoTrans;
        const auto b_form = shape.b_transposed ? CblasTrans : CblasNoTrans;
        const int m = static_cast<int>(shape.m);
        const int n = static_cast<int>(shape.n);
        const int k = static_cast<int>(shape.k);
        const int a_step = shape.a_transposed ? m : k;
        const int b_step = shape.b_transposed ? k : n;
        if constexpr (std::is_same_v<Scalar, float>) {
            cblas_sgemm(CblasRowMajor, a_form, b_form, m, n, k, 1, a.data(), a_step, b.data(), b_step, 0, theirs.data(),
                        n);
        } else {
            cblas_dgemm(CblasRowMajor, a_form, b_form, m, n, k, 1, a.data(), a_step, b.data(), b_step, 0, theirs.data(),
                        n);
        }
        benchmark::DoNotOptimize(theirs.data());
        benchmark::ClobberMemory();
    }

    /// Two sums of k products of numbers below one differ by no more than this.
    bool results_agree() const {
        const double k = static_cast<double>(shape.k);
        const double bound = 2 * k * k * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
        for (std::size_t at = 0; at < ours.size(); ++at) {
            if (!(std::abs(static_cast<double>(ours[at]) - static_cast<double>(theirs[at])) <= bound)) return false;
        }
        return true;
    }
#endif

    Shape shape;
    std::vector<Scalar> a;
    std::vector<Scalar> b;
    std::vector<Scalar> ours;
    std::vector<Scalar> theirs;
};

#ifdef LOCKSTEP_HAVE_CBLAS

template <class Body>
double seconds_each(int repetitions, Body body) {
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < repetitions; ++round) body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repetitions;
}

/// Prints speeds and the ratio of medians (above 1: we are faster), measured in alternating blocks.
/// Returns whether both found the same product.
template <class Scalar>
bool compare(const Shape& shape, const char* type) {
    constexpr std::size_t blocks = 11;
    Problem<Scalar> problem(shape);
    const auto ours = [&] { problem.run_ours(); };
    const auto theirs = [&] { problem.run_theirs(); };
    ours();
    theirs();
    const bool agree = problem.results_agree();
    // Long enough for the clock to settle.
    for (double waited = 0; waited < 0.1;) waited += seconds_each(1, ours) + seconds_each(1, theirs);
    const double once = std::max(seconds_each(3, ours), seconds_each(3, theirs));
    const int repetitions = std::clamp(static_cast<int>(0.01 / once), 1, 20'000);
    std::array<double, blocks> our_times{};
    std::array<double, blocks> their_times{};
    for (std::size_t block = 0; block < blocks; ++block) {
        // Who goes first changes, so that neither always inherits the other's caches and clock.
        if (block % 2 == 0) our_times[block] = seconds_each(repetitions, ours);
        their_times[block] = seconds_each(repetitions, theirs);
        if (block % 2 != 0) our_times[block] = seconds_each(repetitions, ours);
    }
    std::array<double, blocks> ratios{};
    for (std::size_t block = 0; block < blocks; ++block) ratios[block] = their_times[block] / our_times[block];
    std::sort(our_times.begin(), our_times.end());
    std::sort(their_times.begin(), their_times.end());
    std::sort(ratios.begin(), ratios.end());
    const double our_time = our_times[blocks / 2];
    const double their_time = their_times[blocks / 2];
    std::printf("%-6s %-18s ours %6.1f  OpenBLAS %6.1f GFLOP/s  ratio %.3f  (blocks %.3f to %.3f)%s\n", type,
                shape.name().c_str(), shape.operations() / our_time * 1e-9, shape.operations() / their_time * 1e-9,
                their_time / our_time, ratios.front(), ratios.back(), agree ? "" : "  RESULTS DIFFER");
    return agree;
}

bool compare_all() {
    openblas_set_num_threads(1);
    const char* const asked = std::getenv("OPENBLAS_CORETYPE");
    std::printf("OpenBLAS kernels: %s (%s)\n", openblas_get_corename(), asked ? "OPENBLAS_CORETYPE" : "its choice");
    bool agree = true;
    for (const Shape& shape : shapes) agree = compare<float>(shape, "float") && agree;
    for (const Shape& shape : shapes) agree = compare<double>(shape, "double") && agree;
    std::fflush(stdout);
    return agree;
}

#endif

template <class Scalar, class Run>
void add_benchmark(const std::string& name, const Shape& shape, Run run) {
    benchmark::RegisterBenchmark((name + shape.name()).c_str(), [shape, run](benchmark::State& state) {
        Problem<Scalar> problem(shape);
        for (auto _ : state) run(problem);
        state.counters["FLOP/s"] =
            benchmark::Counter(shape.operations(), benchmark::Counter::kIsIterationInvariantRate);
    });
}

template <class Scalar>
void add_benchmarks(const std::string& type) {
    constexpr std::pair<Isa, const char*> sets[] = {
        {Isa::baseline, "baseline/"}, {Isa::avx2, "avx2/"}, {Isa::avx512, "avx512/"}};
    for (const Shape& shape : shapes) {
        for (const auto& set : sets) {
            const Isa isa = set.first;
            if (isa > lockstep::widest_isa()) continue;
            add_benchmark<Scalar>(type + "lockstep/" + set.second, shape,
                                  [isa](Problem<Scalar>& problem) { problem.run_ours(isa); });
        }
#ifdef LOCKSTEP_HAVE_CBLAS
        add_benchmark<Scalar>(type + "openblas/", shape, [](Problem<Scalar>& problem) { problem.run_theirs(); });
#endif
    }
}

}  // namespace

int main(int argc, char** argv) {
    bool agree = true;
#ifdef LOCKSTEP_HAVE_CBLAS
    agree = compare_all();
    // OpenBLAS reads its choice of kernels when it is loaded: to measure its own choice too, start over
    // without it.
    if (agree && std::getenv("OPENBLAS_CORETYPE") != nullptr) {
        unsetenv("OPENBLAS_CORETYPE");
        execv("/proc/self/exe", argv);
        std::perror("execv");
        return EXIT_FAILURE;
    }
#endif
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
    add_benchmarks<float>("float/");
    add_benchmarks<double>("double/");
    benchmark::RunSpecifiedBenchmarks();
    return agree ? EXIT_SUCCESS : EXIT_FAILURE;
}
