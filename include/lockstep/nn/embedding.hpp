// SPDX-License-Identifier: MIT
/// @file
/// Layer Embedding: a table of rows, one for each thing that has a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include <lockstep/core/error.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/random.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/kernels/matrix_view.hpp>
#include <lockstep/nn/layer.hpp>
#include <lockstep/nn/row_checks.hpp>

namespace lockstep {

/// Looks up rows of `weight` (Rows, Size): (rows, Indices) to (rows, Indices * Size), the looked-up rows one after another.
/// The input holds indices, as whole numbers in [0, Rows) of the scalar type.
///
/// First values as in PyTorch: normal with mean 0 and variance 1. The input gradient is 0, for want of a better one.
/// Complexity: a copy of a row for each index forward, an addition backward, in the order of the rows; but the table's
/// gradient is as large as the table, to be cleared, averaged and stepped as a whole.
/// Errors: `forward` throws ShapeError naming row, column and value for what is no index, before anything is written.
template <std::size_t Rows, std::size_t Size, std::size_t Indices = 1>
struct Embedding {
    static_assert(Rows > 0 && Size > 0 && Indices > 0,
                  "an Embedding needs at least one row, one number in a row, and one index to look up");

    static constexpr std::size_t input_size = Indices;
    static constexpr std::size_t parameter_count = Rows * Size;
    static constexpr std::size_t output_size(std::size_t) noexcept { return Indices * Size; }
    static constexpr std::size_t workspace_size(std::size_t, std::size_t) noexcept { return 0; }

    template <class Scalar>
    static void initialize(std::span<Scalar> parameters, RandomStreams& streams) noexcept {
        Random random = streams.next();
        for (Scalar& parameter : parameters) parameter = static_cast<Scalar>(random.normal());
    }
    static void describe(const std::string& prefix, Manifest& manifest) {
        manifest.push_back({prefix + "weight", {Rows, Size}});
    }

    template <class Scalar>
    static void forward(const ForwardPass<Scalar>& pass) {
        static_assert(Rows <= std::size_t{1} << std::numeric_limits<Scalar>::digits,
                      "the scalar type does not tell all indices of the Embedding apart");
        check(pass.input);
        each_index(pass.input, [&](std::size_t row, std::size_t place, std::size_t index) {
            const std::span<const Scalar> found = pass.parameters.subspan(index * Size, Size);
            std::copy(found.begin(), found.end(), pass.output.row(row).subspan(place * Size, Size).begin());
        });
    }

    template <class Scalar>
    static void backward(const BackwardPass<Scalar>& pass) noexcept {
        each_index(pass.input, [&](std::size_t row, std::size_t place, std::size_t index) {
            kernels::add(pass.output_gradient.row(row).subspan(place * Size, Size),
                         pass.parameter_gradients.subspan(index * Size, Size));
        });
        if (!pass.wants_input_gradient()) return;
        for (std::size_t row = 0; row < pass.input_gradient.rows; ++row) {
            const std::span<Scalar> gradient = pass.input_gradient.row(row);
            std::fill(gradient.begin(), gradient.end(), Scalar{0});
        }
    }

private:
    template <class Scalar>
    static void check(MatrixView<const Scalar> input) {
        for (std::size_t row = 0; row < input.rows; ++row) {
            for (std::size_t col = 0; col < Indices; ++col) {
                const Scalar value = input(row, col);
                // Written so that NaN is refused, and before the conversion that it would make undefined.
                if (value >= 0 && value < static_cast<Scalar>(Rows) &&
                    static_cast<Scalar>(static_cast<std::size_t>(value)) == value) {
                    continue;
                }
                throw ShapeError("Embedding: the index of row " + std::to_string(row) + ", column " +
                                 std::to_string(col) + " is " + detail::text_of(value) +
                                 ", not a whole number in [0, " + std::to_string(Rows) + ")");
            }
        }
    }

    template <class Scalar, class Visit>
    static void each_index(MatrixView<const Scalar> input, Visit visit) noexcept {
        for (std::size_t row = 0; row < input.rows; ++row) {
            for (std::size_t col = 0; col < Indices; ++col) visit(row, col, static_cast<std::size_t>(input(row, col)));
        }
    }
};

}  // namespace lockstep
