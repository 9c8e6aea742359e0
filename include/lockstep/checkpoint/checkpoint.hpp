// SPDX-License-Identifier: MIT
/// @file
/// Checkpoints: all that a run needs to go on as if it had never stopped, in one safetensors file.
///
/// Every tensor has its parameter's name: `0.weight`, and `optimizer.exp_avg.0.weight` for Adam's mean of its gradients.
/// Nothing depends on the world size. Steps, seed, epoch and batch are metadata, and so is a digest of all bytes, which
/// finds a file that was damaged on its way.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <lockstep/checkpoint/safetensors.hpp>
#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/collectives/fail_together.hpp>
#include <lockstep/core/concepts.hpp>
#include <lockstep/core/shown.hpp>

namespace lockstep {

/// Where in its data a run stands, and what else the program wants to find again.
struct Position {
    std::uint64_t epoch = 0;
    std::uint64_t batch = 0;  ///< how many batches of the epoch are done: `loader.epoch(epoch)[batch]` is next
    std::map<std::string, std::string> notes{};  ///< any texts, UTF-8
};

namespace detail {

/// A part of a span that has a name of its own in the file.
template <class Scalar>
struct NamedBlock {
    std::string name;
    std::vector<std::size_t> shape;
    std::span<Scalar> values;
};

/// Cuts `values` as the manifest says.
template <class Scalar>
void append_blocks(std::vector<NamedBlock<Scalar>>& blocks, const std::string& prefix, const Manifest& manifest,
                   std::span<Scalar> values) {
    std::size_t begin = 0;
    for (const Parameter& parameter : manifest) {
        blocks.push_back({prefix + parameter.name, parameter.shape, values.subspan(begin, parameter.numel())});
        begin += parameter.numel();
    }
}

/// Parameters, buffers and constants, those without a manifest as one block.
template <class Net>
auto blocks_of_model(Net& model) {
    using Scalar = typename Net::scalar_type;
    std::vector<NamedBlock<Scalar>> blocks;
    append_blocks<Scalar>(blocks, "", model.manifest(), model.parameters());
    if constexpr (requires { Manifest(model.buffer_manifest()); }) {
        append_blocks<Scalar>(blocks, "", model.buffer_manifest(), model.buffers());
    } else if constexpr (HasModelBuffers<Net>) {
        const std::span<Scalar> buffers = model.buffers();
        if (!buffers.empty()) blocks.push_back({"buffers", {buffers.size()}, buffers});
    }
    if constexpr (HasConstants<Net>) {
        const std::span<Scalar> constants = model.constants();
        if (!constants.empty()) blocks.push_back({"constants", {constants.size()}, constants});
    }
    return blocks;
}

inline constexpr const char* optimizer_prefix = "optimizer.";

/// Those of the model, and a block for each parameter and each of the numbers that its state has.
/// @throws ConfigurationError if the optimizer has the state of other parameters
template <class Net, class Optimizer>
auto blocks_of_run(Net& model, Optimizer& optimizer) {
    using Scalar = typename Net::scalar_type;
    auto blocks = blocks_of_model(model);
    const Manifest manifest = model.manifest();
    const std::size_t size = numel(manifest);
    optimizer.reserve(size);
    const std::span<Scalar> state = optimizer.state();
    std::size_t begin = 0;
    for (const char* const slot : optimizer.slots()) {
        append_blocks<Scalar>(blocks, optimizer_prefix + std::string(slot) + '.', manifest, state.subspan(begin, size));
        begin += size;
    }
    return blocks;
}

template <class Scalar>
void add_blocks(Safetensors& file, const std::vector<NamedBlock<Scalar>>& blocks) {
    for (const auto& block : blocks) file.add(block.name, block.shape, std::span<const Scalar>(block.values));
}

template <class Scalar>
std::size_t size_of(const std::vector<NamedBlock<Scalar>>& blocks) {
    std::size_t size = 0;
    for (const auto& block : blocks) size += block.values.size();
    return size;
}

/// Copies what the file has for `blocks` into `staged`, one after another; the blocks themselves stay.
/// @throws FormatError naming path and tensor if one is missing, of another shape or type, or if the file has one that
///         `passes_over(name)` does not allow
template <class Scalar, class PassesOver>
void stage_blocks(const std::string& path, const Safetensors& file, const std::vector<NamedBlock<Scalar>>& blocks,
                  std::span<Scalar> staged, const PassesOver& passes_over) {
    for (const auto& block : blocks) {
        file.copy(block.name, block.shape, staged.first(block.values.size()));
        staged = staged.subspan(block.values.size());
    }
    std::vector<std::string> names;
    for (const auto& block : blocks) names.push_back(block.name);
    std::sort(names.begin(), names.end());
    for (const SavedTensor& tensor : file.tensors()) {
        if (std::binary_search(names.begin(), names.end(), tensor.name) || passes_over(tensor.name)) continue;
        throw FormatError(path + ": tensor " + to_string(tensor) + " is none of those that are to be loaded");
    }
}

template <class Scalar>
void take_staged(const std::vector<NamedBlock<Scalar>>& blocks, std::span<const Scalar> staged) noexcept {
    for (const auto& block : blocks) {
        std::copy_n(staged.begin(), block.values.size(), block.values.begin());
        staged = staged.subspan(block.values.size());
    }
}

inline constexpr const char* checkpoint_format = "lockstep checkpoint 1";
inline constexpr std::string_view note_prefix = "note.";
inline constexpr std::size_t longest_notes = std::size_t{1} << 26;

/// What rank 0 says of its notes. @throws TransportError if that cannot be
inline std::size_t checked_notes_size(std::int64_t size) {
    if (size >= 0 && static_cast<std::uint64_t>(size) <= longest_notes) return static_cast<std::size_t>(size);
    throw TransportError("rank 0 has notes of " + std::to_string(size) + " bytes", 0);
}

/// The texts beside the tensors of a checkpoint.
class CheckpointTexts {
public:
    CheckpointTexts(const std::string& path, const Safetensors& file) : path_(path), file_(file) {}

    const std::string& text(const std::string& key) const {
        const auto found = file_.metadata().find(key);
        if (found == file_.metadata().end())
            throw FormatError(path_ + ": is no checkpoint: it does not say " + shown(key));
        return found->second;
    }
    std::uint64_t number(const std::string& key) const {
        const std::string& digits = text(key);
        std::uint64_t value = 0;
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (code != std::errc{} || end != digits.data() + digits.size()) {
            throw FormatError(path_ + ": " + shown(key) + " is " + shown(digits) + ", which is no number");
        }
        return value;
    }
    /// A number that is signed where it is used.
    std::int64_t count(const std::string& key) const {
        const std::uint64_t value = number(key);
        if (value >> 63 == 0) return static_cast<std::int64_t>(value);
        throw FormatError(path_ + ": " + shown(key) + " is " + std::to_string(value) + ", which is too large");
    }
    /// Key and text, one after the other, quoted as in JSON.
    std::string notes() const {
        std::string quoted;
        for (const auto& [key, text] : file_.metadata()) {
            if (key.compare(0, note_prefix.size(), note_prefix) != 0) continue;
            quoted += json_quoted(key.substr(note_prefix.size())) + json_quoted(text);
        }
        if (quoted.size() > longest_notes)
            throw FormatError(path_ + ": has notes of " + std::to_string(quoted.size()) + " bytes");
        return quoted;
    }
    /// @throws FormatError unless the file says this
    void require(const std::string& key, const std::string& wanted) const {
        if (text(key) == wanted) return;
        throw FormatError(path_ + ": " + shown(key) + " is " + shown(text(key)) + ", not " + shown(wanted));
    }

private:
    const std::string& path_;
    const Safetensors& file_;
};

/// What is no tensor: numbers that all ranks need.
template <class Replica, class Optimizer>
void set_texts(Safetensors& file, Replica& replica, const Optimizer& optimizer, const Position& position) {
    auto& model = replica.model();
    file.set("format", checkpoint_format);
    file.set("digest", file.digest());
    file.set("parameters", std::to_string(numel(model.manifest())));
    file.set("optimizer", Optimizer::name);
    file.set("optimizer steps", std::to_string(optimizer.steps()));
    file.set("steps", std::to_string(replica.steps()));
    file.set("epoch", std::to_string(position.epoch));
    file.set("batch", std::to_string(position.batch));
    if constexpr (requires { model.seed(); }) file.set("seed", std::to_string(model.seed()));
    for (const auto& [key, text] : position.notes) file.set(std::string(note_prefix) + key, text);
}

}  // namespace detail

/// Saves the model's parameters (buffers, constants) alone: for use, or for other frameworks. Names are the manifest's.
/// @throws FormatError naming the path if the file cannot be written; then an older one is as it was
template <Model Net>
void save_parameters(const std::string& path, Net& model) {
    Safetensors file;
    detail::add_blocks(file, detail::blocks_of_model(model));
    file.write(path);
}

/// Loads them from such a file, a checkpoint, or any safetensors file with tensors of these names, shapes and type.
/// @throws FormatError naming path and tensor; the model is then as it was
template <Model Net>
void load_parameters(const std::string& path, Net& model) {
    const auto file = Safetensors::read(path);
    const auto blocks = detail::blocks_of_model(model);
    std::vector<typename Net::scalar_type> staged(detail::size_of(blocks));
    const std::string prefix = detail::optimizer_prefix;
    detail::stage_blocks(path, file, blocks, std::span(staged),
                         [&](const std::string& name) { return name.compare(0, prefix.size(), prefix) == 0; });
    detail::take_staged<typename Net::scalar_type>(blocks, staged);
}

/// Saves the run between two steps. No rank needs another for that, and all would write the same: let rank 0 do it.
/// `replica` is a DataParallel, `optimizer` has the state of all parameters.
///
///     if (replica.rank() == 0) save_checkpoint("run.safetensors", replica, sgd, {.epoch = epoch, .batch = done});
///
/// Memory: once the size of the file. The old file is replaced when the new one is on the disk, not before.
/// @throws FormatError naming the path if it cannot be written; then an older file is as it was
template <class Replica, class Optimizer>
void save_checkpoint(const std::string& path, Replica& replica, Optimizer& optimizer, const Position& position = {}) {
    Safetensors file;
    detail::add_blocks(file, detail::blocks_of_run(replica.model(), optimizer));
    detail::set_texts(file, replica, optimizer, position);
    file.write(path);
}

/// Goes on where `save_checkpoint` was called, with any number of ranks: rank 0 reads the file, which need not be there
/// for others, and hands it on. Every rank calls it. The next steps are, bit for bit, those that the saved run would
/// have made if there are as many ranks as there were, or if the reducer's sums do not depend on their number.
/// The optimizer's options are the program's, as before; learning rates follow from `optimizer.steps()`.
///
/// Cost: a broadcast of parameters and state.
/// @throws FormatError on all ranks, naming the path and the tensor or text that is damaged, missing or too much: then
///         nothing has changed on any rank
template <class Replica, class Optimizer>
Position load_checkpoint(const std::string& path, Replica& replica, Optimizer& optimizer) {
    auto& link = replica.transport();
    return fail_together(link, [&] {
        auto& model = replica.model();
        using Net = std::remove_reference_t<decltype(model)>;
        using Scalar = typename Net::scalar_type;
        const auto blocks = detail::blocks_of_run(model, optimizer);
        std::vector<Scalar> staged(detail::size_of(blocks));
        Position position;
        // Optimizer's and replica's steps, seed, epoch, batch, bytes of the notes.
        std::array<std::int64_t, 6> numbers{};
        std::string notes;
        if (link.rank() == 0) {
            const auto file = Safetensors::read(path);
            const detail::CheckpointTexts texts(path, file);
            texts.require("format", detail::checkpoint_format);
            texts.require("digest", file.digest());
            texts.require("optimizer", Optimizer::name);
            detail::stage_blocks(path, file, blocks, std::span(staged), [](const std::string&) { return false; });
            notes = texts.notes();
            numbers = {texts.count("optimizer steps"), texts.count("steps"), 0,
                       texts.count("epoch"),           texts.count("batch"), static_cast<std::int64_t>(notes.size())};
            if constexpr (HasSeed<Net>) numbers[2] = std::bit_cast<std::int64_t>(texts.number("seed"));
        }
        broadcast(link, std::span<std::int64_t>(numbers));
        std::vector<std::uint8_t> bytes(notes.begin(), notes.end());
        bytes.resize(detail::checked_notes_size(numbers[5]));
        broadcast(link, std::span(bytes));
        broadcast(link, std::span(staged));
        // Nobody changes anything before everybody has everything.
        barrier(link);

        detail::take_staged<Scalar>(blocks, staged);
        optimizer.set_steps(numbers[0]);
        replica.set_steps(static_cast<std::uint64_t>(numbers[1]));
        if constexpr (HasSeed<Net>) model.set_seed(std::bit_cast<std::uint64_t>(numbers[2]));
        position.epoch = static_cast<std::uint64_t>(numbers[3]);
        position.batch = static_cast<std::uint64_t>(numbers[4]);
        const std::string quoted(bytes.begin(), bytes.end());
        detail::JsonText words(quoted);
        while (const auto key = words.string()) position.notes.emplace(*key, words.string().value_or(""));
        return position;
    });
}

}  // namespace lockstep
