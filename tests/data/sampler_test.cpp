// SPDX-License-Identifier: MIT
#include <lockstep/data/sampler.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Sampler;

struct Backwards {
    void fill(std::span<std::size_t> order, std::uint64_t) const {
        for (std::size_t place = 0; place < order.size(); ++place) order[place] = order.size() - 1 - place;
    }
};
/// A sampler that changes as it is asked would give resumed epochs another order.
struct Forgetful {
    void fill(std::span<std::size_t>, std::uint64_t) {}
};
struct Blind {
    void fill(std::span<std::size_t>) const {}
};

BOOST_AUTO_TEST_CASE(a_sampler_fills_the_order_of_an_epoch) {
    BOOST_TEST(Sampler<Backwards>);
    BOOST_TEST(!Sampler<Forgetful>);
    BOOST_TEST(!Sampler<Blind>);
    BOOST_TEST(!Sampler<int>);
}

}  // namespace
