// SPDX-License-Identifier: MIT
/// @file
/// TorchModel: any torch::nn::Module as a Model. Needs libtorch; link `lockstep::libtorch`.
///
///     TorchModel model{net, [](auto output, auto target) { return torch::nn::functional::cross_entropy(output, target); }};
///     DataParallel replica{std::move(model), link};
///     replica.backward(TorchBatch{inputs, targets});  // then step: replica.step(optimizer), or one of torch::optim
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/pass_context.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/storage/aligned.hpp>

namespace lockstep {

/// Has the C library keep memory that libtorch frees: activations of megabytes are allocated and freed in every step, and
/// glibc gives each back to the kernel, whose page faults then cost a good part of the step. For the whole process: call it
/// first in `main`. Does nothing with other C libraries.
inline void keep_freed_memory() noexcept {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_ARENA_MAX, 1);  // Others hold no more than 64 MiB.
#endif
}

/// Rows as tensors: the first dimension of both counts them. Slices share memory.
struct TorchBatch {
    torch::Tensor inputs{};
    torch::Tensor targets{};

    std::size_t rows() const {
        return inputs.defined() && inputs.dim() > 0 ? static_cast<std::size_t>(inputs.size(0)) : 0;
    }
    TorchBatch slice(Shard range) const {
        const auto first = static_cast<std::int64_t>(range.begin);
        const auto count = static_cast<std::int64_t>(range.size);
        return {inputs.narrow(0, first, count), targets.narrow(0, first, count)};
    }
};

/// A loss as a sum with its weight, for losses whose mean is not over rows (masked tokens, weighted rows): `sum` is a
/// tensor of one number, `weight` what it is to be divided by.
struct TorchLossSum {
    torch::Tensor sum;
    double weight = 0;
};

namespace detail {

/// Flat memory of a storage policy, parts of which are tensors. These keep it, however long they live.
template <class Scalar, class Storage>
class TorchMemory {
public:
    explicit TorchMemory(std::size_t size)
        : memory_(std::make_shared<typename Storage::template buffer<Scalar>>(size)) {}

    static torch::TensorOptions type() { return torch::TensorOptions().dtype(c10::CppTypeToScalarType<Scalar>::value); }
    std::span<Scalar> values() const noexcept { return {memory_->data(), memory_->size()}; }
    /// The numbers from `first` on, shaped like `model`. No view of another tensor: torch::optim detaches gradients, which
    /// is not allowed for views.
    torch::Tensor part(std::size_t first, const torch::Tensor& model) const {
        return torch::from_blob(
            memory_->data() + first, model.sizes(), [memory = memory_](void*) {}, type());
    }

private:
    std::shared_ptr<typename Storage::template buffer<Scalar>> memory_;
};

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Tensors moved into one flat arena, of which they become parts.
template <class Scalar, class Storage>
class TorchArena {
    using Memory = TorchMemory<Scalar, Storage>;

public:
    /// @throws ShapeError naming the first tensor that is not dense, on the CPU and of type `Scalar`
    explicit TorchArena(NamedTensors tensors) : tensors_(std::move(tensors)), memory_(size_of(tensors_)) {
        const torch::NoGradGuard no_gradient;
        std::size_t first = 0;
        for (auto& [name, tensor] : tensors_) {
            Parameter parameter{name, {}};
            for (const std::int64_t extent : tensor.sizes()) {
                parameter.shape.push_back(static_cast<std::size_t>(extent));
            }
            const torch::Tensor place = memory_.part(first, tensor);
            place.copy_(tensor);
            tensor.set_data(place);
            firsts_.push_back(first);
            first += parameter.numel();
            manifest_.push_back(std::move(parameter));
        }
    }

    std::span<Scalar> values() const noexcept { return memory_.values(); }
    const Manifest& manifest() const noexcept { return manifest_; }
    std::size_t size() const noexcept { return tensors_.size(); }
    torch::Tensor& tensor(std::size_t index) { return tensors_[index].second; }
    std::size_t first_of(std::size_t index) const noexcept { return firsts_[index]; }

private:
    static std::size_t size_of(const NamedTensors& tensors) {
        std::size_t size = 0;
        for (const auto& [name, tensor] : tensors) {
            if (tensor.layout() != torch::kStrided || !tensor.device().is_cpu() ||
                tensor.dtype() != Memory::type().dtype()) {
                throw ShapeError("TorchModel: " + name + " is " + std::string(tensor.dtype().name()) + " on " +
                                 tensor.device().str() + ", not a dense tensor of " +
                                 std::string(Memory::type().dtype().name()) + " on cpu");
            }
            size += static_cast<std::size_t>(tensor.numel());
        }
        return size;
    }

    NamedTensors tensors_;
    Memory memory_;
    Manifest manifest_;
    std::vector<std::size_t> firsts_;
};

}  // namespace detail

/// `Module` is a module holder (`Net net;` after TORCH_MODULE) or a std::shared_ptr to a module with `forward(inputs)`.
/// `Criterion` is called as `criterion(outputs, targets)` and returns the *mean* loss over the rows as a tensor of one
/// number, or a TorchLossSum.
///
/// Parameters and their gradients become parts of two flat arenas (`Storage` says where; SharedMemory lets Fused reach
/// them from other processes). Everything that holds them (the module, an optimizer of torch::optim) goes on holding
/// them. Parameters shared between modules are one; those without `requires_grad` are only made the same on all ranks; a
/// parameter that no rank used in a step is `unused()`. Buffers of type `Scalar` (running statistics) are averaged over
/// ranks by rows, others belong to each rank. What is random in a module is drawn by libtorch, on each rank for itself:
/// Dropout differs between world sizes.
///
/// Ranks that are threads take one module each (`clone()`), and `torch::set_num_threads(1)`.
/// Errors: ShapeError at construction for parameters of another type, elsewhere than on the CPU, or none at all;
/// whatever libtorch throws goes to all ranks.
template <class Module, class Criterion, class Scalar = float, class Storage = Aligned>
class TorchModel {
    static_assert(std::same_as<Scalar, float> || std::same_as<Scalar, double>);
    using Arena = detail::TorchArena<Scalar, Storage>;

public:
    using scalar_type = Scalar;
    using batch_type = TorchBatch;
    static constexpr PassTraits traits{.local_buffers = true};

    TorchModel(Module module, Criterion criterion)
        : module_(std::move(module)), criterion_(std::move(criterion)), state_(std::make_shared<State>(named())) {
        if (state_->parameters.values().empty()) throw ShapeError("TorchModel: the module has no parameters to train");
        link_gradients();
        watch();
    }
    TorchModel(TorchModel&&) = default;
    TorchModel& operator=(TorchModel&&) = default;

    std::span<Scalar> parameters() noexcept { return state_->parameters.values(); }
    std::span<const Scalar> parameters() const noexcept { return state_->parameters.values(); }
    std::span<Scalar> gradients() noexcept { return state_->gradients.values(); }
    std::span<const Scalar> gradients() const noexcept { return state_->gradients.values(); }
    std::span<Scalar> buffers() noexcept { return state_->buffers.values(); }
    /// What no training changes, but all ranks must have alike.
    std::span<Scalar> constants() noexcept { return state_->constants.values(); }
    const Manifest& manifest() const noexcept { return state_->parameters.manifest(); }
    const Manifest& buffer_manifest() const noexcept { return state_->buffers.manifest(); }
    std::span<std::uint8_t> used() noexcept { return state_->used; }
    Module& module() noexcept { return module_; }
    const Module& module() const noexcept { return module_; }

    /// Adds the gradient of the summed loss to `gradients()`.
    LossSum backward(const TorchBatch& batch, const PassContext& context = {}) {
        if (batch.rows() == 0) return {};
        link_gradients();
        const TorchLossSum loss = loss_of(batch);
        const LossSum own{loss.sum.template item<double>(), loss.weight};
        context.loss_is(own);
        state_->begin(context);
        loss.sum.backward();
        state_->begin({});
        return own;
    }

    /// The summed loss, in evaluation mode and without a gradient.
    LossSum loss(const TorchBatch& batch) {
        if (batch.rows() == 0) return {};
        const torch::NoGradGuard no_gradient;
        const bool training = module_->is_training();
        module_->eval();
        const TorchLossSum loss = loss_of(batch);
        module_->train(training);
        return {loss.sum.template item<double>(), loss.weight};
    }

private:
    /// What hooks in the module's graph refer to; outlives moves of the model.
    struct State {
        explicit State(std::array<detail::NamedTensors, 3> named)
            : parameters(std::move(named[0])),
              constants(std::move(named[1])),
              buffers(std::move(named[2])),
              gradients(parameters.values().size()),
              used(parameters.size()),
              finished(parameters.size()) {}

        Arena parameters;
        Arena constants;
        Arena buffers;
        detail::TorchMemory<Scalar, Storage> gradients;
        std::vector<torch::Tensor> gradient_parts{};
        std::vector<std::uint8_t> used;
        std::vector<std::shared_ptr<torch::autograd::Node>> accumulators{};
        PassContext context{};
        std::vector<std::uint8_t> finished;  ///< in the pass under way
        std::size_t final_from = 0;          ///< of this parameter and all behind it the gradients are final

        void begin(const PassContext& pass) {
            context = pass;
            std::fill(finished.begin(), finished.end(), std::uint8_t{0});
            final_from = parameters.size();
        }
        /// Called by the thread that runs backward, once a pass for each parameter that it reaches.
        void accumulated(std::size_t index) {
            used[index] = 1;
            if (!context.reduces_early()) return;
            if (index >= final_from) {
                throw ConfigurationError("TorchModel: backward came twice to " + parameters.manifest()[index].name +
                                         ", which may be reduced already: use Overlap::none");
            }
            finished[index] = 1;
            const std::size_t before = final_from;
            while (final_from > 0 && finished[final_from - 1] != 0) --final_from;
            if (final_from < before) {
                context.gradients_are_final_from(gradients.values().data() + parameters.first_of(final_from));
            }
        }
    };

    /// What is trained, what is only kept alike, and the buffers; each tensor once.
    std::array<detail::NamedTensors, 3> named() const {
        std::array<detail::NamedTensors, 3> sorted;
        std::unordered_set<const void*> seen;
        const auto take = [&](const std::string& name, const torch::Tensor& tensor, std::size_t kind) {
            if (tensor.defined() && seen.insert(tensor.unsafeGetTensorImpl()).second) {
                sorted[kind].emplace_back(name, tensor);
            }
        };
        for (const auto& item : module_->named_parameters()) {
            take(item.key(), item.value(), item.value().requires_grad() ? 0 : 1);
        }
        for (const auto& item : module_->named_buffers()) {
            if (item.value().defined() && item.value().dtype() == c10::CppTypeToScalarType<Scalar>::value) {
                take(item.key(), item.value(), 2);
            }
        }
        return sorted;
    }

    /// Gradients are parts of the arena; an optimizer that drops gradients to clear them has cut some off.
    void link_gradients() {
        State& state = *state_;
        for (std::size_t index = 0; index < state.parameters.size(); ++index) {
            torch::Tensor& parameter = state.parameters.tensor(index);
            if (state.gradient_parts.size() <= index) {
                state.gradient_parts.push_back(state.gradients.part(state.parameters.first_of(index), parameter));
            }
            if (!parameter.grad().is_same(state.gradient_parts[index])) {
                parameter.mutable_grad() = state.gradient_parts[index];
            }
        }
    }

    /// Has libtorch tell when the gradient of a parameter has been accumulated.
    void watch() {
        using Variables = std::vector<torch::autograd::Variable>;
        for (std::size_t index = 0; index < state_->parameters.size(); ++index) {
            auto accumulator = torch::autograd::impl::grad_accumulator(state_->parameters.tensor(index));
            accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
                [weak = std::weak_ptr<State>(state_), index](const Variables& outputs, const Variables&) {
                    if (const auto state = weak.lock()) state->accumulated(index);
                    return outputs;
                }));
            state_->accumulators.push_back(std::move(accumulator));
        }
    }

    TorchLossSum loss_of(const TorchBatch& batch) {
        const torch::Tensor outputs = module_->forward(batch.inputs);
        if constexpr (std::same_as<std::invoke_result_t<Criterion&, torch::Tensor, torch::Tensor>, TorchLossSum>) {
            return criterion_(outputs, batch.targets);
        } else {
            const torch::Tensor mean = criterion_(outputs, batch.targets);
            if (mean.numel() != 1) {
                throw ShapeError("TorchModel: the loss is a tensor of " + std::to_string(mean.numel()) +
                                 " numbers, not one");
            }
            const auto rows = static_cast<double>(batch.rows());
            return {mean * rows, rows};
        }
    }

    Module module_;
    Criterion criterion_;
    std::shared_ptr<State> state_;
};

template <class Module, class Criterion>
TorchModel(Module, Criterion) -> TorchModel<Module, Criterion>;

}  // namespace lockstep
