// SPDX-License-Identifier: MIT
/// @file
/// Clipping by the global norm: call it between `backward` and `step`, on averaged gradients.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/optim/options.hpp>

namespace lockstep {

/// Scales `gradients` so that their Euclidean norm is at most `limit`; returns the norm before. As in PyTorch, by
/// limit / (norm + 1e-6) where that is below 1. All ranks hold the same averaged gradients, so all scale by the same
/// factor. Squares are summed in double; where their sum is not finite, gradients are left alone.
/// @throws ConfigurationError for a limit that is negative or not finite
template <class Scalar>
double clip_gradient_norm(std::span<Scalar> gradients, double limit) {
    detail::check_not_negative("clip_gradient_norm", "limit", limit);
    double squares = 0;
    for (const Scalar gradient : gradients) squares += static_cast<double>(gradient) * static_cast<double>(gradient);
    const double norm = std::sqrt(squares);
    const double factor = limit / (norm + 1e-6);
    if (factor < 1 && std::isfinite(norm)) kernels::scale(static_cast<Scalar>(factor), gradients);
    return norm;
}

}  // namespace lockstep
