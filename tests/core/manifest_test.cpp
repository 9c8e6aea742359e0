// SPDX-License-Identifier: MIT
#include <lockstep/core/manifest.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using lockstep::Manifest;
using lockstep::numel;

BOOST_AUTO_TEST_CASE(elements_are_counted) {
    const Manifest manifest{{"weight", {3, 2}}, {"bias", {2}}, {"scale", {}}};
    BOOST_TEST(manifest[0].numel() == 6U);
    // A parameter without axes is one number.
    BOOST_TEST(manifest[2].numel() == 1U);
    BOOST_TEST(numel(manifest) == 9U);
    BOOST_TEST(numel(Manifest{}) == 0U);
    BOOST_TEST(numel(Manifest{{"none", {0, 5}}, {"nothing", {1, 0, 2}}, {"one", {1}}}) == 1U);
}

BOOST_AUTO_TEST_CASE(messages_show_name_and_shape) {
    BOOST_TEST(to_string(lockstep::Parameter{"weight", {3, 2}}) == "weight (3, 2)");
    BOOST_TEST(to_string(lockstep::Parameter{"bias", {2}}) == "bias (2)");
    BOOST_TEST(to_string(lockstep::Parameter{"scale", {}}) == "scale ()");
}

}  // namespace
