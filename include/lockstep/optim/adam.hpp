// SPDX-License-Identifier: MIT
/// @file
/// Optimizers Adam and AdamW: steps scaled by running means of the gradient and of its square.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <lockstep/optim/optimizer.hpp>

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
/// State: both means, m first.
template <class Scalar, Decay decay>
struct AdamRule {
    static constexpr const char* name = decay == Decay::loss ? "Adam" : "AdamW";
    static constexpr std::array<const char*, 2> slot_names{"exp_avg", "exp_avg_sq"};
    using scalar_type = Scalar;
    using options_type = AdamOptions;

    struct coefficients_type {
        Scalar rate;  ///< over the correction of the mean
        Scalar root;  ///< of the correction of the mean of squares
        Scalar epsilon;
        Scalar beta1;
        Scalar beta2;
        Scalar new1;  ///< 1 - beta1
        Scalar new2;
        Scalar decays;
        Scalar keeps;  ///< what decay leaves of a weight
    };
    static coefficients_type coefficients(const AdamOptions& options, std::int64_t step) noexcept {
        const auto t = static_cast<double>(step);
        return {static_cast<Scalar>(options.learning_rate / (1 - std::pow(options.beta1, t))),
                static_cast<Scalar>(std::sqrt(1 - std::pow(options.beta2, t))),
                static_cast<Scalar>(options.epsilon),
                static_cast<Scalar>(options.beta1),
                static_cast<Scalar>(options.beta2),
                static_cast<Scalar>(1 - options.beta1),
                static_cast<Scalar>(1 - options.beta2),
                static_cast<Scalar>(options.weight_decay),
                static_cast<Scalar>(1 - options.learning_rate * options.weight_decay)};
    }

    struct Kernel {
        using coefficients_type = AdamRule::coefficients_type;
        static constexpr std::size_t slots = 2;

        template <class Element, class Value>
        [[gnu::always_inline]] static void apply(const coefficients_type& by, Value& parameter, Value& gradient,
                                                 Value* state) noexcept {
            // Without decay a parameter that is not finite must not spoil the gradient.
            if (by.decays != 0 && decay == Decay::loss) gradient = gradient + parameter * by.decays;
            if (by.decays != 0 && decay == Decay::weights) parameter = parameter * by.keeps;
            state[0] = state[0] * by.beta1 + gradient * by.new1;
            state[1] = state[1] * by.beta2 + gradient * gradient * by.new2;
            Value deviation = state[1];
            take_square_root<Element>(deviation);
            parameter = parameter - state[0] * by.rate / (deviation / by.root + by.epsilon);
        }
    };
    template <class Use>
    static void with_kernel(const AdamOptions&, const Use& use) {
        use(Kernel{});
    }
    static std::size_t slots(const AdamOptions&) noexcept { return Kernel::slots; }

    static std::array<double, 5> values(const AdamOptions& options) noexcept {
        return {options.learning_rate, options.beta1, options.beta2, options.epsilon, options.weight_decay};
    }
    static void check(const AdamOptions& options) {
        check_not_negative(name, "learning_rate", options.learning_rate);
        check_fraction(name, "beta1", options.beta1);
        check_fraction(name, "beta2", options.beta2);
        check_not_negative(name, "epsilon", options.epsilon);
        check_not_negative(name, "weight_decay", options.weight_decay);
    }
};

}  // namespace detail

/// Kingma and Ba, 2015. Weight decay is added to the gradient.
template <class Scalar = float>
class Adam : public Optimizer<detail::AdamRule<Scalar, detail::Decay::loss>> {
    using Optimizer<detail::AdamRule<Scalar, detail::Decay::loss>>::Optimizer;
};
/// Loshchilov and Hutter, 2019. Weight decay shrinks parameters directly.
template <class Scalar = float>
class AdamW : public Optimizer<detail::AdamRule<Scalar, detail::Decay::weights>> {
    using Optimizer<detail::AdamRule<Scalar, detail::Decay::weights>>::Optimizer;
};

Adam(const AdamOptions&)->Adam<float>;
AdamW(const AdamOptions&)->AdamW<float>;

}  // namespace lockstep
