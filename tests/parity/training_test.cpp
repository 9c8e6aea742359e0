// SPDX-License-Identifier: MIT
/// @file
/// A hundred steps against PyTorch: every loss, with every optimizer, alone, with ranks of equal shards as DDP has them,
/// and with ranks of unequal shards, where DDP's average is another number and ours that of the whole batch.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/nn/activations.hpp>
#include <lockstep/nn/conv2d.hpp>
#include <lockstep/nn/cross_entropy.hpp>
#include <lockstep/nn/linear.hpp>
#include <lockstep/nn/network.hpp>
#include <lockstep/nn/pooling.hpp>
#include <lockstep/nn/sequential.hpp>
#include <lockstep/optim/adam.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/topology/ring.hpp>
#include <lockstep/topology/tree.hpp>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include "parity/golden.hpp"
#include "support/world.hpp"

namespace {

using namespace lockstep;

using Convolution = Conv2d<Image<1, 8, 8>, 4, 3>;
using Pool = MaxPool2d<Convolution::output_image, 2>;

struct Mlp {
    static constexpr const char* name = "mlp";
    template <class Scalar>
    using network = Network<Sequential<Linear<6, 8>, Relu, Linear<8, 4>>, CrossEntropy, Scalar>;
};
struct Cnn {
    static constexpr const char* name = "cnn";
    template <class Scalar>
    using network =
        Network<Sequential<Convolution, Relu, Pool, Linear<Pool::output_image::size, 5>>, CrossEntropy, Scalar>;
};
using Nets = boost::mpl::list<Mlp, Cnn>;

constexpr std::size_t rows = 10;

/// The loss of every step on a rank of the world that `link` belongs to.
template <class Net, class Strategy, class Optimizer, class Link>
std::vector<double> train(Link& link, Optimizer optimizer) {
    using Scalar = typename Net::scalar_type;
    DataParallel<Net, Strategy, Link> replica(Net(1), link);
    const auto start = test::values_of<Scalar>(Net::parameter_count, 17, 0.3);
    std::copy(start.begin(), start.end(), replica.model().parameters().begin());
    std::vector<double> losses;
    for (std::size_t step = 0; step < 100; ++step) {
        const auto inputs = test::values_of<Scalar>(rows * Net::input_size, 1000 + step);
        std::vector<std::int32_t> labels(rows);
        for (std::size_t row = 0; row < rows; ++row) {
            labels[row] = static_cast<std::int32_t>((row * 7 + step) % Net::output_size);
        }
        const typename Net::batch_type batch(MatrixView<const Scalar>(inputs.data(), rows, Net::input_size),
                                             std::span<const std::int32_t>(labels));
        losses.push_back(replica.backward(batch).mean);
        optimizer.step(replica.model());
    }
    return losses;
}

/// Each loss is held to its own size, not to the largest of all.
double worst_of(const std::vector<double>& losses, const std::vector<double>& expected) {
    double worst = losses.size() == expected.size() ? 0 : HUGE_VAL;
    for (std::size_t step = 0; step < losses.size() && step < expected.size(); ++step) {
        const double error = std::fabs(losses[step] - expected[step]) / std::fabs(expected[step]);
        worst = std::isnan(error) ? HUGE_VAL : std::fmax(worst, error);
    }
    return worst;
}

template <class Kind, class Scalar, class Strategy>
void check(int world, const std::string& of) {
    using Net = typename Kind::template network<Scalar>;
    const auto check_with = [&](const std::string& name, const auto& optimizer) {
        std::vector<std::vector<double>> losses(static_cast<std::size_t>(world));
        test::check_all_well(test::OverThreads::run(world, [&](Threads& link) {
            losses[static_cast<std::size_t>(link.rank())] = train<Net, Strategy>(link, optimizer);
        }));
        const std::string key = std::string(Kind::name) + "." + name + "." + of;
        for (const auto& each : losses) {
            const double worst = worst_of(each, test::golden(key));
            BOOST_TEST(worst <= test::limit<Scalar>(1e-9, 1e-4), key << " with " << world << " ranks: " << worst);
        }
    };
    check_with("sgd", Sgd<Scalar>{{.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 0.001}});
    check_with("adam", Adam<Scalar>{{.learning_rate = 0.01, .weight_decay = 0.001}});
    check_with("adamw", AdamW<Scalar>{{.learning_rate = 0.01, .weight_decay = 0.1}});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(alone, Kind, Nets) {
    check<Kind, double, Ring>(1, "alone");
    check<Kind, float, Ring>(1, "alone");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(with_equal_shards_as_ddp, Kind, Nets) {
    check<Kind, double, Ring>(2, "ddp");
    check<Kind, double, Tree>(2, "ddp");
    check<Kind, float, Ring>(2, "ddp");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(with_unequal_shards_as_the_whole_batch, Kind, Nets) {
    for (const int world : {3, 4}) {
        check<Kind, double, Ring>(world, "alone");
        check<Kind, float, Tree>(world, "alone");
    }
}

}  // namespace
