// SPDX-License-Identifier: MIT
/// @file
/// What all optimizers share: options by group, state, the count of steps, and steps of pieces.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lockstep/core/arithmetic.hpp>
#include <lockstep/core/digest.hpp>
#include <lockstep/optim/groups.hpp>
#include <lockstep/optim/options.hpp>
#include <lockstep/optim/update.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep {

/// The body of Sgd, Adam and AdamW. A `Rule` says what one step does to one parameter:
/// - `name`, `scalar_type`, and `options_type` with a `learning_rate`; `check(options)` throws, `values(options)` lists them
/// - `slots(options)`: how many numbers a parameter's state has, the first of `slot_names`
/// - `coefficients(options, step)`: what is the same for all parameters in step 1, 2, ...
/// - `with_kernel(options, use)` calls `use(kernel)`; `kernel.apply(coefficients, parameter, gradient, state)` moves
///
/// Parameter groups: `optimizer.add_group(net.manifest(), biases_and_norms, {.learning_rate = 0.001})` before the first
/// step. Without groups nothing is slower for their being possible.
///
/// A step is `step(parameters, gradients)`, or `begin_step()` and then `step_piece` for each piece of the parameters, in
/// any order: the same bits, whatever the pieces. An optimizer may have the state of some pieces only.
///
/// Complexity: one pass over parameters, gradients and state. Memory: `slots` scalars a parameter, allocated by
/// `reserve` or by the first step, which fixes the number of parameters. Deterministic: a parameter's new value depends
/// on nothing but its own numbers; computed in StandardArithmetic, so that all ranks compute alike.
template <class Rule>
class Optimizer {
public:
    using scalar_type = typename Rule::scalar_type;
    using options_type = typename Rule::options_type;
    using rule_type = Rule;
    using base_type = Optimizer;
    static constexpr const char* name = Rule::name;

    /// @throws ConfigurationError for options that make no sense
    explicit Optimizer(const options_type& options = {}) : groups_{{options}} { Rule::check(options); }

    /// Of group 0, that is of everything that is in no other, or of another group.
    const options_type& options(std::size_t group = 0) const { return groups_.at(group).options; }

    /// Of group 0; the rates of other groups keep their ratios to it. For schedules.
    /// @throws ConfigurationError, with nothing changed, if a rate would be negative or not finite
    void set_learning_rate(double learning_rate) {
        for (const Group& group : groups_) {
            detail::check_not_negative(name, "learning_rate", learning_rate * group.ratio);
        }
        for (Group& group : groups_) group.options.learning_rate = learning_rate * group.ratio;
    }

    /// Parameters of `manifest` for which `takes(parameter)`, and which no earlier group has taken, get these options.
    /// All groups are made with one manifest, before `reserve` and the first step. Returns the number of the group.
    /// @throws ConfigurationError if it is too late, or for options that make no sense; ShapeError for another size
    template <class Predicate>
    std::size_t add_group(const Manifest& manifest, const Predicate& takes, const options_type& options) {
        Rule::check(options);
        if (reserved_) throw ConfigurationError(std::string(name) + ": groups are added before the first step");
        fix_size(numel(manifest));
        const double base = groups_[0].options.learning_rate;
        if (base == 0 && options.learning_rate != 0) {
            throw ConfigurationError(std::string(name) + ": no rate of a group has a ratio to a learning_rate of 0");
        }
        groups_.push_back({options, base == 0 ? 1 : options.learning_rate / base});
        runs_.add(manifest, takes, groups_.size() - 1);
        return groups_.size() - 1;
    }

    /// Moves `parameters` against `gradients`, but for `skipped` ranges: their values and state stay (they count as
    /// steps, of which there is one number for all). @throws ShapeError, before anything is changed, if sizes differ from
    /// each other or from those of the step before
    void step(std::span<scalar_type> parameters, std::span<const scalar_type> gradients,
              std::span<const Shard> skipped = {}) {
        detail::check_sizes(name, parameters.size(), gradients.size());
        if (reserved_) check_size(parameters.size());
        else reserve(parameters.size());
        require_state({0, parameters.size()});
        begin_step(skipped);
        step_piece(parameters, gradients, 0);
    }
    /// The same for anything with `parameters()` and `gradients()`.
    template <class Trained>
    void step(Trained& model, std::span<const Shard> skipped = {}) requires requires {
        step(model.parameters(), model.gradients());
    }
    { step(model.parameters(), model.gradients(), skipped); }

    /// Counts a step, in which `skipped` ranges (ascending) are left as they are. @throws ShapeError if they do not ascend
    void begin_step(std::span<const Shard> skipped = {}) {
        const auto before = [](const Shard& left, const Shard& right) { return left.end() <= right.begin; };
        if (std::adjacent_find(skipped.begin(), skipped.end(), [&](auto& a, auto& b) { return !before(a, b); }) !=
            skipped.end()) {
            throw ShapeError(std::string(name) + ": skipped ranges overlap or do not ascend");
        }
        skipped_.assign(skipped.begin(), skipped.end());
        ++steps_;
        for (Group& group : groups_) group.coefficients = Rule::coefficients(group.options, steps_);
    }

    /// Moves elements `first`, `first + 1`, ... of the parameters, of which this is a piece, in the step begun.
    /// @throws ShapeError, before anything is changed, if sizes differ or if it has no state for them
    void step_piece(std::span<scalar_type> parameters, std::span<const scalar_type> gradients, std::size_t first) {
        detail::check_sizes(name, parameters.size(), gradients.size());
        const Shard range{first, parameters.size()};
        const std::size_t offset = require_state(range);
        const StandardArithmetic mode;
        runs_.for_each(range, [&](std::size_t begin, std::size_t end, std::size_t group) {
            for_each_kept(begin, end, [&](std::size_t at, std::size_t count) {
                move(groups_[group], parameters.data() + (at - first), gradients.data() + (at - first),
                     offset + (at - first), count);
            });
        });
    }

    /// Makes room for the state of `size` parameters, so that no step allocates.
    /// @throws ShapeError if it already has the state of another number of parameters
    void reserve(std::size_t size) {
        const Shard all{0, size};
        reserve(size, std::span(&all, 1));
    }
    /// The same for pieces (ascending) of them; others cannot be stepped here. @throws ShapeError if they overlap, leave
    /// `size`, or are not those that it has the state of
    void reserve(std::size_t size, std::span<const Shard> pieces) {
        check_size(size);
        detail::Pieces wanted(pieces, size);
        if (reserved_ && wanted != pieces_) {
            throw ShapeError(std::string(name) + " has the state of other pieces of the parameters");
        }
        if (reserved_) return;
        state_ = Aligned::buffer<scalar_type>(slots().size() * wanted.size());
        pieces_ = std::move(wanted);
        fix_size(size);
        reserved_ = true;
    }

    /// What PyTorch calls the numbers that a parameter's state has with these options.
    std::span<const char* const> slots() const noexcept {
        std::size_t count = 0;
        for (const Group& group : groups_) count = (std::max)(count, Rule::slots(group.options));
        return std::span(Rule::slot_names).first(count);
    }
    /// A copy that has the state of these pieces: where this one has it the same, elsewhere zero.
    /// @throws ShapeError as `reserve`
    Optimizer with_pieces(std::size_t size, std::span<const Shard> pieces) const {
        Optimizer copy(*this);
        copy.reserved_ = false;
        copy.reserve(size, pieces);
        copy.pieces_.for_each([&](const Shard& wanted, std::size_t to) {
            pieces_.for_each([&](const Shard& held, std::size_t from) {
                const std::size_t begin = (std::max)(wanted.begin, held.begin);
                const std::size_t end = (std::min)(wanted.end(), held.end());
                for (std::size_t slot = 0; slot < slots().size() && begin < end; ++slot) {
                    std::copy_n(state_.data() + slot * pieces_.size() + from + (begin - held.begin), end - begin,
                                copy.state_.data() + slot * copy.pieces_.size() + to + (begin - wanted.begin));
                }
            });
        });
        return copy;
    }

    /// All that one step hands to the next, together with `steps()`: slot after slot (the velocity; Adam's mean, then
    /// its mean of squares), each in the order of the parameters it has the state of. Empty before `reserve` or the first
    /// step, and for rules without state. Broadcast it, save it, restore it.
    std::span<scalar_type> state() noexcept { return {state_.data(), state_.size()}; }
    std::span<const scalar_type> state() const noexcept { return {state_.data(), state_.size()}; }
    bool reserved() const noexcept { return reserved_; }
    /// Whose state that is.
    const detail::Pieces& pieces() const noexcept { return pieces_; }
    std::int64_t steps() const noexcept { return steps_; }
    void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

    /// A digest of rule, options, groups, steps and skipped ranges: the same on ranks that are about to do the same.
    std::uint64_t settings() const noexcept {
        std::uint64_t hash = digest(std::as_bytes(std::span(name, std::char_traits<char>::length(name))));
        const auto add = [&hash](std::uint64_t value) {
            const std::array<std::uint64_t, 2> both{hash, value};
            hash = digest(std::as_bytes(std::span(both)));
        };
        add(static_cast<std::uint64_t>(steps_));
        for (const Group& group : groups_) {
            for (const double value : Rule::values(group.options)) add(std::bit_cast<std::uint64_t>(value));
        }
        runs_.for_each_run([&](std::size_t end, std::size_t group) {
            add(end);
            add(group);
        });
        for (const Shard& range : skipped_) {
            add(range.begin);
            add(range.size);
        }
        return hash;
    }

private:
    struct Group {
        options_type options;
        double ratio = 1;  ///< of its learning rate to that of group 0
        typename Rule::coefficients_type coefficients{};
    };

    void check_size(std::size_t size) const {
        if (!sized_ || size == size_) return;
        throw ShapeError(std::string(name) + (reserved_ ? " has the state of " : " has groups of ") +
                         std::to_string(size_) + " parameters and cannot step " + std::to_string(size));
    }
    void fix_size(std::size_t size) {
        check_size(size);
        size_ = size;
        sized_ = true;
    }
    std::size_t require_state(const Shard& range) const {
        const std::size_t offset = pieces_.offset_of(range);
        if (offset != detail::Pieces::none) return offset;
        throw ShapeError(std::string(name) + " has no state for parameters " + std::to_string(range.begin) + " to " +
                         std::to_string(range.end() - 1) + " here");
    }

    /// `visit(at, count)` for what of `begin` to `end` is not skipped.
    template <class Visit>
    void for_each_kept(std::size_t begin, std::size_t end, const Visit& visit) const {
        auto skip = std::lower_bound(skipped_.begin(), skipped_.end(), begin,
                                     [](const Shard& range, std::size_t index) { return range.end() <= index; });
        for (; skip != skipped_.end() && skip->begin < end; ++skip) {
            if (skip->begin > begin) visit(begin, skip->begin - begin);
            begin = (std::min)(skip->end(), end);
        }
        if (begin < end) visit(begin, end - begin);
    }

    void move(const Group& group, scalar_type* parameters, const scalar_type* gradients, std::size_t offset,
              std::size_t count) noexcept {
        Rule::with_kernel(group.options, [&](auto kernel) {
            using Kernel = decltype(kernel);
            detail::Updated<scalar_type, Kernel::slots> elements{parameters, gradients, {}, count};
            for (std::size_t slot = 0; slot < Kernel::slots; ++slot) {
                elements.state[slot] = state_.data() + slot * pieces_.size() + offset;
            }
            detail::update<Kernel>(group.coefficients, elements);
        });
    }

    std::vector<Group> groups_;
    detail::GroupRuns runs_;
    detail::Pieces pieces_;
    std::vector<Shard> skipped_;  ///< in the step begun last
    std::size_t size_ = 0;
    bool sized_ = false;     ///< is the number of parameters fixed?
    bool reserved_ = false;  ///< is there a state?
    std::int64_t steps_ = 0;
    Aligned::buffer<scalar_type> state_;
};

}  // namespace lockstep
