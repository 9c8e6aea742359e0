// SPDX-License-Identifier: MIT
#include <lockstep/kernels/patches.hpp>

#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/gradient_check.hpp"

namespace {

using lockstep::kernels::gather_patches;
using lockstep::kernels::PatchShape;
using lockstep::kernels::scatter_patches;

/// All shapes that a small image, kernel, stride and padding can make.
std::vector<PatchShape> shapes() {
    std::vector<PatchShape> all;
    for (const std::size_t kernel : {1U, 2U, 3U, 5U}) {
        for (const std::size_t stride : {1U, 2U, 3U}) {
            for (const std::size_t padding : {0U, 1U, 2U, 6U}) {
                const PatchShape shape{2, 4, 7, kernel, stride, padding};
                if (shape.height + 2 * padding >= kernel) all.push_back(shape);
            }
        }
    }
    return all;
}

/// What lies at (channel, y, x) of the patch (row, col), one by one: 0 outside of the image.
template <class Visit>
void each_value(const PatchShape& shape, const Visit& visit) {
    std::size_t at = 0;
    for (std::size_t channel = 0; channel < shape.channels; ++channel) {
        for (std::size_t y = 0; y < shape.kernel; ++y) {
            for (std::size_t x = 0; x < shape.kernel; ++x) {
                for (std::size_t row = 0; row < shape.patch_rows(); ++row) {
                    for (std::size_t col = 0; col < shape.patch_cols(); ++col, ++at) {
                        const auto pixel_y =
                            static_cast<long>(row * shape.stride + y) - static_cast<long>(shape.padding);
                        const auto pixel_x =
                            static_cast<long>(col * shape.stride + x) - static_cast<long>(shape.padding);
                        const bool inside = pixel_y >= 0 && pixel_y < static_cast<long>(shape.height) && pixel_x >= 0 &&
                                            pixel_x < static_cast<long>(shape.width);
                        const long pixel =
                            (static_cast<long>(channel * shape.height) + pixel_y) * static_cast<long>(shape.width) +
                            pixel_x;
                        visit(at, inside, static_cast<std::size_t>(inside ? pixel : 0));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(patches_are_gathered_with_zeros_outside_of_the_image) {
    for (const PatchShape& shape : shapes()) {
        const auto image = test::uniform(shape.channels * shape.height * shape.width, 1);
        std::vector<double> matrix(shape.patch_size() * shape.patch_rows() * shape.patch_cols(), 9);
        gather_patches(shape, image.data(), matrix.data());
        std::size_t wrong = 0;
        each_value(shape, [&](std::size_t at, bool inside, std::size_t pixel) {
            wrong += matrix[at] == (inside ? image[pixel] : 0.0) ? 0U : 1U;
        });
        BOOST_TEST(wrong == 0U, shape.kernel << ' ' << shape.stride << ' ' << shape.padding);
    }
}

BOOST_AUTO_TEST_CASE(scattering_is_the_transpose_of_gathering) {
    for (const PatchShape& shape : shapes()) {
        const auto matrix = test::uniform(shape.patch_size() * shape.patch_rows() * shape.patch_cols(), 2);
        std::vector<double> image(shape.channels * shape.height * shape.width, 3);
        std::vector<double> expected = image;
        scatter_patches(shape, matrix.data(), image.data());
        each_value(shape, [&](std::size_t at, bool inside, std::size_t pixel) {
            if (inside) expected[pixel] += matrix[at];
        });
        BOOST_TEST(image == expected, shape.kernel << ' ' << shape.stride << ' ' << shape.padding);
    }
}

}  // namespace
