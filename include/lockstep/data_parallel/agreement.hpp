// SPDX-License-Identifier: MIT
/// @file
/// Before training: do all ranks hold the same model? Compared by name, shape and type, not by size alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/collectives/barrier.hpp>
#include <lockstep/collectives/broadcast.hpp>
#include <lockstep/core/concepts.hpp>

namespace lockstep::detail {

/// @throws ShapeError if parameters, gradients and manifest of one model do not fit together
template <class Net>
void check_model(Net& model) {
    const std::size_t parameters = std::span<typename Net::scalar_type>(model.parameters()).size();
    const std::size_t gradients = std::span<typename Net::scalar_type>(model.gradients()).size();
    const std::size_t described = numel(model.manifest());
    if (parameters != gradients || parameters != described) {
        throw ShapeError("the model has " + std::to_string(parameters) + " parameters, " + std::to_string(gradients) +
                         " gradients, and a manifest of " + std::to_string(described));
    }
}

/// One line a parameter, `weight (3, 2) float32`.
template <class Net>
std::string model_lines(const Net& model) {
    std::string lines;
    for (const Parameter& parameter : Manifest(model.manifest())) {
        lines += to_string(parameter) + " " + name_of(element_type_of<typename Net::scalar_type>) + "\n";
    }
    return lines;
}

/// Line `index` of `lines`, or a word for its absence.
inline std::string line_of(std::string_view lines, std::size_t index) {
    for (; index > 0 && !lines.empty(); --index) lines.remove_prefix((std::min)(lines.find('\n') + 1, lines.size()));
    return lines.empty() ? "no such parameter" : std::string(lines.substr(0, lines.find('\n')));
}

/// @throws ShapeError on every rank if any rank's model differs from rank 0's, naming the first difference
template <class Net, class Link>
void agree_on_model(const Net& model, Link& link) {
    const std::string own = model_lines(model);
    std::int64_t size = static_cast<std::int64_t>(own.size());
    broadcast(link, std::span(&size, 1));
    constexpr std::int64_t limit = std::int64_t{1} << 26;
    if (size < 0 || size > limit) {
        throw TransportError(
            "rank 0 describes its model in " + std::to_string(size) + " bytes; the limit is " + std::to_string(limit),
            0);
    }
    std::vector<std::uint8_t> bytes(own.begin(), own.end());
    bytes.resize(static_cast<std::size_t>(size));
    broadcast(link, std::span(bytes));
    const std::string theirs(bytes.begin(), bytes.end());
    if (own != theirs) {
        std::size_t index = 0;
        while (line_of(own, index) == line_of(theirs, index)) ++index;
        throw ShapeError("rank " + std::to_string(link.rank()) + " has another model than rank 0: parameter " +
                             std::to_string(index) + " is " + line_of(own, index) + ", on rank 0 " +
                             line_of(theirs, index),
                         link.rank());
    }
    // Nobody goes on before everybody has compared: an error above ends the wait of the others here.
    barrier(link);
}

}  // namespace lockstep::detail
