// SPDX-License-Identifier: MIT
#include <lockstep/tensor/tensor.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;
using Scalars = boost::mpl::list<float, double>;

auto says(const std::string& text) {
    return [text](const std::exception& error) { return std::string(error.what()) == text; };
}

// A constant tensor that owns gives out constant values; a view is as constant as its elements.
using Owner = Tensor<float>;
using View = Tensor<float, Borrowed>;
using ConstantView = Tensor<const float, Borrowed>;
static_assert(std::same_as<decltype(std::declval<Owner&>().data()), float*>);
static_assert(std::same_as<decltype(std::declval<const Owner&>().data()), const float*>);
static_assert(std::same_as<decltype(std::declval<const Owner&>().values()), std::span<const float>>);
static_assert(std::same_as<decltype(std::declval<const Owner&>()(0, 0)), const float&>);
static_assert(std::same_as<decltype(std::declval<Owner&>().matrix()), MatrixView<float>>);
static_assert(std::same_as<decltype(std::declval<const Owner&>().matrix()), MatrixView<const float>>);
static_assert(std::same_as<decltype(std::declval<Owner&>().slice(Shard{})), View>);
static_assert(std::same_as<decltype(std::declval<const Owner&>().slice(Shard{})), ConstantView>);
static_assert(std::same_as<decltype(std::declval<const View&>()(0, 0)), float&>);
static_assert(std::same_as<decltype(std::declval<ConstantView&>()(0, 0)), const float&>);
static_assert(!std::constructible_from<View, Shape>, "a view needs memory");

BOOST_AUTO_TEST_CASE(shapes_know_their_extents) {
    const Shape shape{2, 3, 4, 5};
    BOOST_TEST(shape.ndim() == 4U);
    BOOST_TEST(shape.numel() == 120U);
    BOOST_TEST(shape.extent(0) == 2U);
    BOOST_TEST(shape.extent(3) == 5U);
    BOOST_TEST(shape.text() == "(2, 3, 4, 5)");
    BOOST_TEST((shape.with_rows(7) == Shape{7, 3, 4, 5}));
    BOOST_TEST((Shape{2, 3} != Shape{3, 2}));
    BOOST_TEST((Shape{2, 3} != Shape{2, 3, 1}));
    BOOST_TEST(Shape{}.numel() == 0U);
    BOOST_TEST(Shape{}.text() == "()");
    BOOST_TEST((Shape{3, 0, 2}.numel() == 0U));
    BOOST_TEST(Shape{6}.numel() == 6U);
    static_assert(Shape{2, 3}.numel() == 6);
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_errors) {
    constexpr auto huge = static_cast<std::size_t>(-1);
    BOOST_CHECK_EXCEPTION((Shape{1, 2, 3, 4, 5}), ShapeError, says("a tensor has at most 4 axes, not 5"));
    BOOST_CHECK_EXCEPTION((Shape{2, 3}.extent(2)), ShapeError, says("axis 2 of the shape (2, 3)"));
    BOOST_CHECK_THROW(Shape{}.extent(0), ShapeError);
    BOOST_CHECK_THROW((Shape{huge, 2}), ShapeError);
    // These products wrap to 0.
    BOOST_CHECK_THROW((Shape{huge / 2 + 1, 2}), ShapeError);
    BOOST_CHECK_THROW((Shape{huge / 4 + 1, 4}), ShapeError);
    BOOST_CHECK_THROW((Shape{huge, huge, 0}), ShapeError);
    BOOST_CHECK_THROW((Shape{0, huge, huge}), ShapeError);
    BOOST_CHECK_THROW(Tensor<float>({huge / 2}), ShapeError);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(elements_lie_in_row_major_order, Scalar, Scalars) {
    Tensor<Scalar> tensor({2, 3, 4});
    BOOST_TEST(tensor.numel() == 24U);
    BOOST_TEST(tensor.ndim() == 3U);
    BOOST_TEST(tensor.extent(1) == 3U);
    for (const Scalar value : tensor.values()) BOOST_TEST(value == 0);
    std::iota(tensor.values().begin(), tensor.values().end(), Scalar{0});
    BOOST_TEST(tensor(1, 2, 3) == 23);
    BOOST_TEST(tensor(1, 0, 2) == 14);
    BOOST_TEST(tensor(0, 1, 0) == 4);
    tensor(1, 1, 1) = 100;
    BOOST_TEST(std::as_const(tensor).values()[17] == 100);
    const auto matrix = std::as_const(tensor).matrix();
    BOOST_TEST(matrix.rows == 2U);
    BOOST_TEST(matrix.cols == 12U);
    BOOST_TEST(matrix(1, 11) == 23);
}

BOOST_AUTO_TEST_CASE(tensors_without_elements_are_whole) {
    const Tensor<float> none;
    BOOST_TEST(none.numel() == 0U);
    BOOST_TEST(none.matrix().rows == 0U);
    BOOST_TEST(none.slice({0, 0}).numel() == 0U);
    BOOST_CHECK_THROW(none.slice({0, 1}), ShapeError);
    const Tensor<float> rowless({0, 5});
    BOOST_TEST(rowless.matrix().cols == 5U);
    BOOST_TEST((rowless.slice({0, 0}).shape() == Shape{0, 5}));
    const Tensor<float> line({4});
    BOOST_TEST(line.matrix().rows == 4U);
    BOOST_TEST(line.matrix().cols == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(copies_are_deep_and_moves_take_the_values, Scalar, Scalars) {
    Tensor<Scalar> tensor({2, 2});
    tensor(0, 1) = 3;
    Tensor<Scalar> copy = tensor;
    copy(0, 1) = 4;
    BOOST_TEST(tensor(0, 1) == 3);
    const Scalar* const memory = copy.data();
    const Tensor<Scalar> moved = std::move(copy);
    BOOST_TEST(moved.data() == memory);
    BOOST_TEST(moved(0, 1) == 4);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slices_view_the_rows, Scalar, Scalars) {
    Tensor<Scalar> tensor({4, 3});
    std::iota(tensor.values().begin(), tensor.values().end(), Scalar{0});
    auto rows = tensor.slice({1, 2});
    BOOST_TEST((rows.shape() == Shape{2, 3}));
    BOOST_TEST(rows(0, 0) == 3);
    BOOST_TEST(rows(1, 2) == 8);
    rows(1, 2) = 80;
    BOOST_TEST(tensor(2, 2) == 80);
    BOOST_TEST(rows.slice({1, 1})(0, 2) == 80);
    BOOST_TEST(std::as_const(tensor).slice({3, 1})(0, 0) == 9);
    BOOST_TEST(tensor.slice({4, 0}).numel() == 0U);
}

BOOST_AUTO_TEST_CASE(slices_beyond_the_tensor_are_errors) {
    Tensor<float> tensor({4, 3});
    constexpr auto huge = static_cast<std::size_t>(-1);
    BOOST_CHECK_EXCEPTION(tensor.slice({3, 2}), ShapeError, says("rows 3 to 5 of a tensor of shape (4, 3)"));
    BOOST_CHECK_THROW(tensor.slice({5, 0}), ShapeError);
    // begin + size wraps to 1.
    BOOST_CHECK_THROW(tensor.slice({2, huge}), ShapeError);
    BOOST_CHECK_THROW(tensor.slice({huge, 2}), ShapeError);
}

BOOST_AUTO_TEST_CASE(a_borrowed_tensor_views_memory_of_the_right_size) {
    std::array<float, 6> memory{1, 2, 3, 4, 5, 6};
    const View view({3, 2}, Borrowed::buffer<float>(std::span<float>(memory)));
    view(2, 1) = 60;
    BOOST_TEST(memory[5] == 60);
    const ConstantView constant({2, 3}, Borrowed::buffer<const float>(std::span<const float>(memory)));
    BOOST_TEST(constant(1, 0) == 4);
    BOOST_CHECK_EXCEPTION(View({2, 2}, Borrowed::buffer<float>(std::span<float>(memory))), ShapeError,
                          says("a buffer of 6 elements is no tensor of shape (2, 2)"));
}

}  // namespace
