// SPDX-License-Identifier: MIT
#include <lockstep/data/sequential_sampler.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/conformance/sampler.hpp"

namespace {

static_assert(lockstep::Sampler<lockstep::SequentialSampler>);

BOOST_AUTO_TEST_CASE(obeys_the_laws) {
    test::check_visits_every_row([](std::size_t) { return lockstep::SequentialSampler{}; });
}

BOOST_AUTO_TEST_CASE(rows_come_as_they_are_in_every_epoch) {
    for (const std::size_t epoch : {0U, 1U, 17U}) {
        std::vector<std::size_t> order(4, 99);
        lockstep::SequentialSampler().fill(order, epoch);
        BOOST_TEST((order == std::vector<std::size_t>{0, 1, 2, 3}));
    }
    lockstep::SequentialSampler().fill({}, 0);
}

}  // namespace
