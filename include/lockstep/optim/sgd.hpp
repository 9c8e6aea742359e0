// SPDX-License-Identifier: MIT
/// @file
/// Optimizer Sgd: stochastic gradient descent with momentum, Nesterov momentum and weight decay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <lockstep/optim/optimizer.hpp>

namespace lockstep {

struct SgdOptions {
    double learning_rate = 0.001;
    double momentum = 0;
    double weight_decay = 0;
    bool nesterov = false;
};

namespace detail {

template <class Scalar>
struct SgdRule {
    static constexpr const char* name = "Sgd";
    static constexpr std::array<const char*, 1> slot_names{"momentum_buffer"};
    using scalar_type = Scalar;
    using options_type = SgdOptions;

    struct coefficients_type {
        Scalar rate;
        Scalar momentum;
        Scalar decay;
    };
    static coefficients_type coefficients(const SgdOptions& options, std::int64_t) noexcept {
        return {static_cast<Scalar>(options.learning_rate), static_cast<Scalar>(options.momentum),
                static_cast<Scalar>(options.weight_decay)};
    }

    enum class Momentum { none, plain, nesterov };
    template <Momentum momentum>
    struct Kernel {
        using coefficients_type = SgdRule::coefficients_type;
        static constexpr std::size_t slots = momentum == Momentum::none ? 0 : 1;

        template <class, class Value>
        [[gnu::always_inline]] static void apply(const coefficients_type& by, Value& parameter, Value& direction,
                                                 Value* state) noexcept {
            // Without decay a parameter that is not finite must not spoil the gradient.
            if (by.decay != 0) direction = direction + parameter * by.decay;
            if constexpr (momentum != Momentum::none) {
                state[0] = state[0] * by.momentum + direction;
                direction = momentum == Momentum::nesterov ? direction + state[0] * by.momentum : state[0];
            }
            parameter = parameter - direction * by.rate;
        }
    };
    template <class Use>
    static void with_kernel(const SgdOptions& options, const Use& use) {
        if (options.momentum == 0) use(Kernel<Momentum::none>{});
        else if (options.nesterov) use(Kernel<Momentum::nesterov>{});
        else use(Kernel<Momentum::plain>{});
    }
    static std::size_t slots(const SgdOptions& options) noexcept { return options.momentum == 0 ? 0 : 1; }

    static std::array<double, 4> values(const SgdOptions& options) noexcept {
        return {options.learning_rate, options.momentum, options.weight_decay, options.nesterov ? 1.0 : 0.0};
    }
    static void check(const SgdOptions& options) {
        check_not_negative(name, "learning_rate", options.learning_rate);
        check_not_negative(name, "momentum", options.momentum);
        check_not_negative(name, "weight_decay", options.weight_decay);
        if (options.nesterov && options.momentum == 0) {
            throw ConfigurationError("Sgd: nesterov needs a momentum above 0, not 0");
        }
    }
};

}  // namespace detail

/// PyTorch's rule, for each parameter p with gradient g and velocity v (at first 0):
///
///     g += weight_decay * p;  v = momentum * v + g;  p -= learning_rate * (nesterov ? g + momentum * v : v)
///
/// State: the velocity, if any group has momentum. The rest is said of Optimizer.
template <class Scalar = float>
class Sgd : public Optimizer<detail::SgdRule<Scalar>> {
    using Optimizer<detail::SgdRule<Scalar>>::Optimizer;
};

Sgd(const SgdOptions&)->Sgd<float>;

}  // namespace lockstep
