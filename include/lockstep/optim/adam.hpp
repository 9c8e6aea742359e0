// SPDX-License-Identifier: MIT
/// @file
/// Optimizers Adam and AdamW: steps scaled by running means of the gradient and of its square.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/optim/options.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep {

struct AdamOptions {
    double learning_rate = 0.001;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
};

namespace detail {

/// What weight decay does: `loss` adds it to the gradient (Adam), `weights` shrinks the parameter by itself (AdamW).
enum class Decay { loss, weights };

/// PyTorch's rule, in step t = 1, 2, ..., for each parameter p with gradient g, and m and v, at first 0:
///
///     Adam:  g += weight_decay * p        AdamW:  p -= learning_rate * weight_decay * p
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     p -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
///
/// Complexity: one pass over parameters, gradients and both means. Memory: two scalars a parameter, allocated by
/// `reserve` or by the first step, which fixes the number of parameters. Deterministic, parameter by parameter.
template <class Scalar, Decay decay>
class AdamRule {
public:
    using scalar_type = Scalar;
    static constexpr const char* name = decay == Decay::loss ? "Adam" : "AdamW";

    /// @throws ConfigurationError for options that make no sense
    explicit AdamRule(const AdamOptions& options = {}) : options_(options) { check(options); }

    const AdamOptions& options() const noexcept { return options_; }
    /// For schedules. @throws ConfigurationError if it is negative or not finite
    void set_learning_rate(double learning_rate) {
        check_not_negative(name, "learning_rate", learning_rate);
        options_.learning_rate = learning_rate;
    }

    /// Moves `parameters` against `gradients`. @throws ShapeError, before anything is changed, if their sizes
    /// differ from each other or from those of the step before
    void step(std::span<Scalar> parameters, std::span<const Scalar> gradients) {
        check_sizes(name, parameters.size(), gradients.size());
        reserve(parameters.size());
        ++steps_;
        const auto t = static_cast<double>(steps_);
        const double correction1 = 1 - std::pow(options_.beta1, t);
        const double correction2 = 1 - std::pow(options_.beta2, t);
        const auto rate = static_cast<Scalar>(options_.learning_rate / correction1);
        const auto root = static_cast<Scalar>(std::sqrt(correction2));
        const auto epsilon = static_cast<Scalar>(options_.epsilon);
        const auto beta1 = static_cast<Scalar>(options_.beta1);
        const auto beta2 = static_cast<Scalar>(options_.beta2);
        const auto new1 = static_cast<Scalar>(1 - options_.beta1);
        const auto new2 = static_cast<Scalar>(1 - options_.beta2);
        const auto decays = static_cast<Scalar>(options_.weight_decay);
        const auto keeps = static_cast<Scalar>(1 - options_.learning_rate * options_.weight_decay);
        Scalar* const means = state_.data();
        Scalar* const squares = means + parameters.size();
        kernels::detail::for_lanes<Scalar>(parameters.size(), [=](auto lanes) {
            auto parameter = lanes.load(parameters.data());
            auto gradient = lanes.load(gradients.data());
            // Without decay a parameter that is not finite must not spoil the gradient.
            if (decays != 0 && decay == Decay::loss) gradient = gradient + parameter * decays;
            if (decays != 0 && decay == Decay::weights) parameter = parameter * keeps;
            const auto mean = lanes.load(means) * beta1 + gradient * new1;
            const auto square = lanes.load(squares) * beta2 + gradient * gradient * new2;
            lanes.store(means, mean);
            lanes.store(squares, square);
            lanes.store(parameters.data(), parameter - mean * rate / (lanes.square_root(square) / root + epsilon));
        });
    }

    /// The same for anything with `parameters()` and `gradients()`.
    template <class Trained>
    void step(Trained& model) requires requires {
        step(model.parameters(), model.gradients());
    }
    { step(model.parameters(), model.gradients()); }

    /// Makes room for the state of `size` parameters, so that no step allocates.
    /// @throws ShapeError if it already has the state of another number of parameters
    void reserve(std::size_t size) {
        size_.fix(name, size, [&] { state_ = Aligned::buffer<Scalar>(2 * size); });
    }

    /// Both means, m first, each in parameter order; empty before `reserve` or the first step. With `steps()`, all that
    /// one step hands to the next.
    std::span<Scalar> state() noexcept { return {state_.data(), state_.size()}; }
    std::span<const Scalar> state() const noexcept { return {state_.data(), state_.size()}; }
    std::int64_t steps() const noexcept { return steps_; }
    void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

private:
    static void check(const AdamOptions& options) {
        check_not_negative(name, "learning_rate", options.learning_rate);
        check_fraction(name, "beta1", options.beta1);
        check_fraction(name, "beta2", options.beta2);
        check_not_negative(name, "epsilon", options.epsilon);
        check_not_negative(name, "weight_decay", options.weight_decay);
    }

    AdamOptions options_;
    StateSize size_;
    std::int64_t steps_ = 0;
    Aligned::buffer<Scalar> state_;
};

}  // namespace detail

/// Kingma and Ba, 2015. Weight decay is added to the gradient.
template <class Scalar = float>
class Adam : public detail::AdamRule<Scalar, detail::Decay::loss> {
    using detail::AdamRule<Scalar, detail::Decay::loss>::AdamRule;
};
/// Loshchilov and Hutter, 2019. Weight decay shrinks parameters directly.
template <class Scalar = float>
class AdamW : public detail::AdamRule<Scalar, detail::Decay::weights> {
    using detail::AdamRule<Scalar, detail::Decay::weights>::AdamRule;
};

Adam(const AdamOptions&)->Adam<float>;
AdamW(const AdamOptions&)->AdamW<float>;

}  // namespace lockstep
