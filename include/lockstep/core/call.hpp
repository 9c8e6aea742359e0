// SPDX-License-Identifier: MIT
/// @file
/// The name of one collective call: what every message carries, so that ranks that disagree find out at once.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <lockstep/core/deadline.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep {

enum class Operation : std::uint8_t {
    all_reduce = 1,
    reduce = 2,
    distribute = 3,
    broadcast = 4,
    barrier = 5,
    reduce_scatter = 6,
    all_gather = 7,
    all_reduce_into = 8
};
enum class Reduction : std::uint8_t { none = 0, sum = 1, min = 2, max = 3 };
enum class ElementType : std::uint8_t { float32 = 1, float64 = 2, int32 = 3, int64 = 4, uint8 = 5 };

/// The element types that collectives carry, by their type.
template <class Scalar>
inline constexpr ElementType element_type_of = [] {
    static_assert(std::same_as<Scalar, float> || std::same_as<Scalar, double> || std::same_as<Scalar, std::int32_t> ||
                      std::same_as<Scalar, std::int64_t> || std::same_as<Scalar, std::uint8_t>,
                  "collectives carry float, double, std::int32_t, std::int64_t and std::uint8_t");
    if constexpr (std::same_as<Scalar, float>) return ElementType::float32;
    else if constexpr (std::same_as<Scalar, double>) return ElementType::float64;
    else if constexpr (std::same_as<Scalar, std::int32_t>) return ElementType::int32;
    else if constexpr (std::same_as<Scalar, std::int64_t>) return ElementType::int64;
    else return ElementType::uint8;
}();

constexpr std::size_t size_of(ElementType type) noexcept {
    switch (type) {
        case ElementType::float32:
        case ElementType::int32: return 4;
        case ElementType::float64:
        case ElementType::int64: return 8;
        case ElementType::uint8: break;
    }
    return 1;
}

constexpr const char* name_of(ElementType type) noexcept {
    switch (type) {
        case ElementType::float32: return "float32";
        case ElementType::float64: return "float64";
        case ElementType::int32: return "int32";
        case ElementType::int64: return "int64";
        case ElementType::uint8: return "uint8";
    }
    return "unknown element type";
}

constexpr const char* name_of(Operation operation) noexcept {
    switch (operation) {
        case Operation::all_reduce: return "all_reduce";
        case Operation::reduce: return "reduce";
        case Operation::distribute: return "distribute";
        case Operation::broadcast: return "broadcast";
        case Operation::barrier: return "barrier";
        case Operation::reduce_scatter: return "reduce_scatter";
        case Operation::all_gather: return "all_gather";
        case Operation::all_reduce_into: return "all_reduce_into";
    }
    return "unknown operation";
}

constexpr const char* name_of(Reduction reduction) noexcept {
    switch (reduction) {
        case Reduction::none: return "";
        case Reduction::sum: return "sum ";
        case Reduction::min: return "min ";
        case Reduction::max: return "max ";
    }
    return "unknown reduction ";
}

/// The first letters of a topology's name, of a size that fits into every message.
using ShortName = std::array<char, 8>;

constexpr ShortName short_name(const char* name) noexcept {
    ShortName letters{};
    for (std::size_t index = 0; index < letters.size() && name[index] != 0; ++index) letters[index] = name[index];
    return letters;
}

/// What a rank asks for, before the transport has numbered it.
struct Request {
    Operation operation = Operation::barrier;
    Reduction reduction = Reduction::none;
    ElementType type = ElementType::uint8;
    std::int32_t root = 0;
    ShortName topology{};
    std::uint64_t elements = 0;

    friend constexpr bool operator==(const Request&, const Request&) = default;
};

/// One collective call of one rank: the request, its number on this transport, and when waiting for it ends.
struct Call {
    std::uint64_t sequence = 0;
    Request request;
    Deadline deadline = Deadline::after(Seconds{0});
};

/// `all_reduce #118 (sum of 200 float32, 800 bytes, ring)`
inline std::string to_string(std::uint64_t sequence, const Request& request) {
    std::string text = std::string(name_of(request.operation)) + " #" + std::to_string(sequence);
    if (request.operation == Operation::barrier) return text;
    text += std::string(" (") + name_of(request.reduction) + (request.reduction == Reduction::none ? "" : "of ") +
            std::to_string(request.elements) + " " + name_of(request.type) + ", " +
            std::to_string(request.elements * size_of(request.type)) + " bytes, ";
    for (const char letter : request.topology) {
        // Names also arrive from the network: print what can be printed.
        if (letter != 0) text += letter > ' ' && letter < 127 ? letter : '?';
    }
    return text + (request.root == 0 ? "" : ", root " + std::to_string(request.root)) + ")";
}
inline std::string to_string(const Call& call) { return to_string(call.sequence, call.request); }

/// `rank 1 has waited 10 s for rank 2 in all_reduce #118 (...)`
inline std::string waited_text(int rank, Seconds time, int peer, std::uint64_t sequence, const Request& request) {
    return "rank " + std::to_string(rank) + " has waited " + to_string(time) + " for rank " + std::to_string(peer) +
           " in " + to_string(sequence, request);
}
inline std::string waited_text(int rank, Seconds time, int peer, const Call& call) {
    return waited_text(rank, time, peer, call.sequence, call.request);
}

/// The error of two ranks that met in different calls; names both sides. A ShapeError if nothing but lengths differ.
inline Failure disagreement(int rank, const Call& call, int peer, std::uint64_t sequence, const Request& request) {
    Request same_length = request;
    same_length.elements = call.request.elements;
    return {sequence == call.sequence && same_length == call.request ? ErrorKind::shape : ErrorKind::transport, peer,
            "ranks disagree: rank " + std::to_string(rank) + " is in " + to_string(call) + ", rank " +
                std::to_string(peer) + " in " + to_string(sequence, request)};
}

/// Combines `bytes` bytes of elements at `from` into those at `into`; both aligned for the element type.
using Combine = void (*)(std::byte* into, const std::byte* from, std::size_t bytes) noexcept;

/// Bytes for `peer`; nothing if `peer` is negative.
struct Outgoing {
    int peer = -1;
    std::span<const std::byte> bytes;
};

/// Room for the bytes of `peer`; nothing if `peer` is negative. Without `combine` they replace what is there.
struct Incoming {
    int peer = -1;
    std::span<std::byte> bytes;
    Combine combine = nullptr;
};

/// What a rank has sent: to be held to the counts that a schedule predicts.
struct Traffic {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  ///< payload, without headers

    friend constexpr bool operator==(const Traffic&, const Traffic&) = default;
};

}  // namespace lockstep
