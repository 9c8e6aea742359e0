// SPDX-License-Identifier: MIT
/// @file
/// B10: gradients (3, 4) and (-3, 4) on two ranks, clipped to norm 1, are (0, 1): averaged first, to (0, 4). Clipping
/// before the average would make (0, 0.8).
#include <cmath>
#include <span>
#include <vector>

#include <lockstep/collectives/all_reduce.hpp>
#include <lockstep/optim/clip.hpp>

#include <boost/test/unit_test.hpp>

#include "support/any_reducer.hpp"
#include "support/shared_memory.hpp"

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(the_average_is_clipped, Runner, test::EveryTransport) {
    test::check_all_well(Runner::run(2, [](auto& link) {
        test::for_each_reducer(link, [&](const auto& reducer) {
            std::vector<float> gradients{link.rank() == 0 ? 3.0F : -3.0F, 4.0F};
            reducer.all_reduce(link, std::span(gradients), lockstep::Sum{}, lockstep::DivideBy<float>{2});
            test::expect(lockstep::clip_gradient_norm(std::span(gradients), 1) == 4, "the norm of the average");
            test::expect(gradients[0] == 0 && std::abs(gradients[1] - 1) < 1e-6F, "clipped");
        });
    }));
}

}  // namespace
