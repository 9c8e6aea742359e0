// SPDX-License-Identifier: MIT
/// @file
/// Also B28: whatever is no IDX file is an error that says so.
#include <lockstep/data/idx.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/messages.hpp"
#include "support/temporary_file.hpp"

namespace {

using namespace lockstep;

std::string header(std::uint32_t magic, const std::vector<std::uint32_t>& extents) {
    std::string bytes;
    const auto put = [&](std::uint32_t number) {
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
    };
    put(magic);
    for (const std::uint32_t extent : extents) put(extent);
    return bytes;
}

const std::string two_labels = header(2049, {2}) + std::string("\7\0", 2);
const std::string two_images = header(2051, {2, 1, 3}) + std::string("\0\1\2\xFF\x80\3", 6);

LabelledDataset<float> read(const std::string& images, const std::string& labels) {
    const test::TemporaryFile image_file(images);
    const test::TemporaryFile label_file(labels);
    return labelled_from_idx(image_file.path(), label_file.path());
}

BOOST_AUTO_TEST_CASE(images_and_labels_are_read) {
    const auto set = read(two_images, two_labels);
    BOOST_TEST(set.size() == 2U);
    BOOST_TEST(set.features() == 3U);
    const auto batch = set.batch();
    BOOST_TEST(batch.targets[0] == 7);
    BOOST_TEST(batch.targets[1] == 0);
    BOOST_TEST(batch.inputs(0, 2) == 2.0F);
    BOOST_TEST(batch.inputs(1, 0) == 255.0F);
    BOOST_TEST(batch.inputs(1, 1) == 128.0F);
    BOOST_TEST(read(header(2051, {0, 28, 28}), header(2049, {0})).size() == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_no_idx_file_is_refused_with_path_and_numbers) {
    const auto refuses = [](const std::string& images, const std::string& labels, const std::string& part) {
        test::check_error(test::outcome_of([&] { read(images, labels); }), ErrorKind::format,
                          {"/tmp/lockstep-test-", part});
    };
    refuses("", two_labels, "0 bytes are too few for a header of 16");
    refuses(header(2051, {2, 1}), two_labels, "12 bytes are too few");
    refuses("\x1F\x8B\x08\x08 and so on, compressed", two_labels,
            "the magic number is 529205256, not 2051 (it is compressed: gunzip it first)");
    refuses(header(2049, {2, 1, 3}), two_labels, "the magic number is 2049, not 2051");
    refuses(two_images, two_images, "the magic number is 2051, not 2049");
    refuses(header(2051, {10, 28, 28}), two_labels, "0 bytes of values, not 10 x 28 x 28 as its header says");
    refuses(header(2051, {10, 28, 28}) + std::string(7839, 'x'), two_labels, "7839 bytes of values, not 10 x 28 x 28");
    refuses(two_images + "x", two_labels, "7 bytes of values, not 2 x 1 x 3");
    // Extents whose product wraps to what is there.
    refuses(header(2051, {0x80000000, 0x80000000, 4}), two_labels,
            "0 bytes of values, not 2147483648 x 2147483648 x 4");
    refuses(header(2051, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}), two_labels,
            "0 bytes of values, not 4294967295 x 4294967295");
    refuses(two_images, header(2049, {3}) + std::string(3, 1), "3 labels for the 2 images of");
    refuses(two_images, header(2049, {2}) + std::string("\1\12", 2), "the label of row 1 is 10, outside [0, 10)");
    test::check_error(test::outcome_of([] { labelled_from_idx("/no/such/images", "/no/such/labels"); }),
                      ErrorKind::format, {"/no/such/images: cannot be opened"});
}

}  // namespace
