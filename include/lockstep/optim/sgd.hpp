// SPDX-License-Identifier: MIT
/// @file
/// Optimizer Sgd: stochastic gradient descent with momentum, Nesterov momentum and weight decay.
#pragma once

#include <cstddef>
#include <span>

#include <lockstep/core/error.hpp>
#include <lockstep/kernels/elementwise.hpp>
#include <lockstep/optim/options.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep {

struct SgdOptions {
    double learning_rate = 0.001;
    double momentum = 0;
    double weight_decay = 0;
    bool nesterov = false;
};

/// PyTorch's rule, for each parameter p with gradient g and velocity v (at first 0):
///
///     g += weight_decay * p;  v = momentum * v + g;  p -= learning_rate * (nesterov ? g + momentum * v : v)
///
/// Complexity: one pass over parameters and gradients, and over the velocity if there is momentum. Memory:
/// the velocity, allocated by `reserve` or by the first step. Deterministic: a parameter's new value depends
/// on nothing but its own numbers. The first step fixes the number of parameters.
template <class Scalar = float>
class Sgd {
public:
    using scalar_type = Scalar;

    /// @throws ConfigurationError for options that make no sense
    explicit Sgd(const SgdOptions& options = {}) : options_(options) { check(options); }

    const SgdOptions& options() const noexcept { return options_; }
    /// For schedules. @throws ConfigurationError if it is negative or not finite
    void set_learning_rate(double learning_rate) {
        SgdOptions changed = options_;
        changed.learning_rate = learning_rate;
        check(changed);
        options_ = changed;
    }

    /// Moves `parameters` against `gradients`. @throws ShapeError, before anything is changed, if their sizes
    /// differ from each other or from those of the step before
    void step(std::span<Scalar> parameters, std::span<const Scalar> gradients) {
        detail::check_sizes("Sgd", parameters.size(), gradients.size());
        reserve(parameters.size());
        if (options_.momentum == 0) return update<Rule::plain>(parameters, gradients);
        if (options_.nesterov) return update<Rule::nesterov>(parameters, gradients);
        update<Rule::momentum>(parameters, gradients);
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
        size_.fix("Sgd", size, [&] {
            if (options_.momentum != 0) velocity_ = Aligned::buffer<Scalar>(size);
        });
    }

    /// The velocity, in parameter order; empty before `reserve` or the first step, and without momentum. It
    /// is all that one step hands to the next: broadcast it, save it, restore it.
    std::span<Scalar> state() noexcept { return {velocity_.data(), velocity_.size()}; }
    std::span<const Scalar> state() const noexcept { return {velocity_.data(), velocity_.size()}; }

private:
    enum class Rule { plain, momentum, nesterov };

    template <Rule rule>
    void update(std::span<Scalar> parameters, std::span<const Scalar> gradients) noexcept {
        const auto rate = static_cast<Scalar>(options_.learning_rate);
        const auto momentum = static_cast<Scalar>(options_.momentum);
        const auto decay = static_cast<Scalar>(options_.weight_decay);
        Scalar* const velocities = velocity_.data();
        kernels::detail::for_lanes<Scalar>(parameters.size(), [=](auto lanes) {
            const auto parameter = lanes.load(parameters.data());
            auto direction = lanes.load(gradients.data());
            // Without decay a parameter that is not finite must not spoil the gradient.
            if (decay != 0) direction = direction + parameter * decay;
            if constexpr (rule != Rule::plain) {
                const auto velocity = lanes.load(velocities) * momentum + direction;
                lanes.store(velocities, velocity);
                direction = rule == Rule::nesterov ? direction + velocity * momentum : velocity;
            }
            lanes.store(parameters.data(), parameter - direction * rate);
        });
    }

    static void check(const SgdOptions& options) {
        detail::check_not_negative("Sgd", "learning_rate", options.learning_rate);
        detail::check_not_negative("Sgd", "momentum", options.momentum);
        detail::check_not_negative("Sgd", "weight_decay", options.weight_decay);
        if (options.nesterov && options.momentum == 0) {
            throw ConfigurationError("Sgd: nesterov needs a momentum above 0, not 0");
        }
    }

    SgdOptions options_;
    detail::StateSize size_;
    Aligned::buffer<Scalar> velocity_;
};

Sgd(const SgdOptions&)->Sgd<float>;

}  // namespace lockstep
