// SPDX-License-Identifier: MIT
/// @file
/// The contracts of the library on one page. Each policy of DataParallel is a model of one of these.
///
/// | concept   | says                                        | models                                        |
/// |-----------|---------------------------------------------|-----------------------------------------------|
/// | Storage   | where the values of a tensor live           | Aligned, Inline<N>, Borrowed, SharedMemory    |
/// | Topology  | which chunk goes where, as pure data        | Naive, Tree, Ring, yours                      |
/// | Transport | how bytes get from rank to rank             | Solo, Threads, Sockets                        |
/// | Reducer   | how a sum over all ranks is made            | every Topology (by the Executor), your own    |
/// | Model     | what is trained                             | Network<...>, a struct of twenty lines        |
///
/// Every requirement has a name of its own, so that the last line of a compiler's error says what is missing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/core/call.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/loss_sum.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/pass_context.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/core/step.hpp>

namespace lockstep {

// ---- Storage ------------------------------------------------------------------------------------------------

/// `Policy::buffer<Value>` holds `size()` values at `data()`, at addresses divisible by `Policy::alignment`.
/// Owning policies construct from a count (values zero) and copy deeply; Borrowed constructs from a span.
template <class Policy, class Value = float>
concept Storage = std::movable<typename Policy::template buffer<Value>> &&
    requires(typename Policy::template buffer<Value> buffer) {
    { buffer.data() } -> std::same_as<Value*>;
    { buffer.size() } -> std::same_as<std::size_t>;
    { Policy::alignment } -> std::convertible_to<std::size_t>;
};

// ---- Topology -----------------------------------------------------------------------------------------------

namespace detail {
struct TakesSteps {
    constexpr void operator()(const Step&) const noexcept {}
};
}  // namespace detail

/// `chunks(world_size)`: into how many pieces the buffer is cut.
template <class Shape>
concept CutsIntoChunks = requires(int world_size) {
    { Shape::chunks(world_size) } -> std::same_as<int>;
};
/// `owns(rank, world_size, chunk)`: does this rank hold the finished chunk after the first half?
template <class Shape>
concept NamesOwners = requires(int rank, int world_size, int chunk) {
    { Shape::owns(rank, world_size, chunk) } -> std::same_as<bool>;
};
/// `reduce(rank, world_size, emit)` calls `emit(Step)` for each step that brings sums to their owners.
template <class Shape>
concept EmitsReduce = requires(int rank, int world_size, detail::TakesSteps emit) {
    Shape::reduce(rank, world_size, emit);
};
/// `distribute(rank, world_size, emit)` does the same for the way back, from owners to everyone.
template <class Shape>
concept EmitsDistribute = requires(int rank, int world_size, detail::TakesSteps emit) {
    Shape::distribute(rank, world_size, emit);
};

/// `name`: what messages, pictures and tables call it.
template <class Shape>
concept HasName = requires {
    { Shape::name } -> std::convertible_to<const char*>;
};

/// A schedule as pure constexpr functions of rank and world size; `verify` proves that it sums. Has no state.
template <class Shape>
concept Topology =
    CutsIntoChunks<Shape> && NamesOwners<Shape> && EmitsReduce<Shape> && EmitsDistribute<Shape> && HasName<Shape>;

// ---- Transport ----------------------------------------------------------------------------------------------

/// `rank()` and `world_size()`, fixed for the transport's life.
template <class Link>
concept KnowsItsRank = requires(const Link link) {
    { link.rank() } -> std::same_as<int>;
    { link.world_size() } -> std::same_as<int>;
};
/// `begin(request)` numbers a collective call and starts its deadline.
template <class Link>
concept NumbersCalls = requires(Link link, const Request& request) {
    { link.begin(request) } -> std::same_as<Call>;
};
/// `exchange(call, outgoing, incoming)` sends to one rank while receiving from another (or the same), combining
/// what arrives into place. Returns when both are done; throws within the call's deadline if they cannot be.
template <class Link>
concept ExchangesBytes = requires(Link link, const Call& call, Outgoing outgoing, Incoming incoming) {
    link.exchange(call, outgoing, incoming);
};
/// `fail(failure)`: every call under way and to come, on every rank, throws this failure.
template <class Link>
concept FailsTogether = requires(Link link, Failure failure) {
    link.fail(failure);
};
/// `traffic()`: messages and payload bytes sent so far.
template <class Link>
concept CountsTraffic = requires(const Link link) {
    { link.traffic() } -> std::same_as<Traffic>;
};

/// A handle by which one rank reaches the others; copies are the same rank. Errors latch: after the first, every
/// later call throws it again at once. One thread uses it at a time.
template <class Link>
concept Transport = KnowsItsRank<Link> && NumbersCalls<Link> && ExchangesBytes<Link> && FailsTogether<Link> &&
    CountsTraffic<Link> && std::copy_constructible<Link>;

// ---- Reducer ------------------------------------------------------------------------------------------------

/// `all_reduce(transport, buffer, reduction, owner_acts)`: the elementwise reduction over all ranks, on all ranks,
/// with the same bits on each. `owner_acts(piece, first_element)` is called on finished pieces between the two
/// halves: by one rank and the rest receive its result, or by several on the same bits, in StandardArithmetic.
template <class Strategy, class Link, class Scalar>
concept ReducesOver = requires(Strategy strategy, Link& link, std::span<Scalar> buffer) {
    strategy.all_reduce(link, buffer);
};

/// In PyTorch a "reducer" collects gradients and decides when to communicate; here it is the topology of a sum.
template <class Strategy, class Link, class Scalar = float>
concept Reducer = Topology<Strategy> || ReducesOver<Strategy, Link, Scalar>;

// ---- Model --------------------------------------------------------------------------------------------------

template <class Net>
concept HasScalarType = std::floating_point<typename Net::scalar_type>;
/// `parameters()` and `gradients()`: flat mutable spans of `scalar_type`, of the same constant size.
template <class Net>
concept HasFlatParameters = HasScalarType<Net> && requires(Net net) {
    { net.parameters() } -> std::convertible_to<std::span<typename Net::scalar_type>>;
};
template <class Net>
concept HasFlatGradients = HasScalarType<Net> && requires(Net net) {
    { net.gradients() } -> std::convertible_to<std::span<typename Net::scalar_type>>;
};
/// `manifest()`: names and shapes of the parameters, in the order of the flat span.
template <class Net>
concept HasManifest = requires(const Net net) {
    { net.manifest() } -> std::convertible_to<Manifest>;
};
/// `backward(rows)` adds the gradient of the *summed* loss to `gradients()`, and returns the sum and its weight.
template <class Net, class Rows>
concept RunsBackward = requires(Net net, Rows rows) {
    { net.backward(rows) } -> std::convertible_to<LossSum>;
};

/// `backward(rows, context)`: the same for a model that wants to know more of the step (core/pass_context.hpp): it may sum
/// over ranks in its passes, and say early which gradients are final, so that they are reduced while it goes on.
template <class Net, class Rows>
concept RunsBackwardInContext = requires(Net net, Rows rows, const PassContext& context) {
    { net.backward(rows, context) } -> std::same_as<LossSum>;
};
/// `buffers()`: what training changes beside the parameters, a flat span like theirs; rank 0's are copied at the start.
template <class Net>
concept HasModelBuffers = HasScalarType<Net> && requires(Net net) {
    { net.buffers() } -> std::convertible_to<std::span<typename Net::scalar_type>>;
};
/// `constants()`: numbers that no training changes, in a span like theirs; rank 0's are copied at the start.
template <class Net>
concept HasConstants = HasScalarType<Net> && requires(Net net) {
    { net.constants() } -> std::convertible_to<std::span<typename Net::scalar_type>>;
};
/// `seed()` of what is random in a pass, and `set_seed(seed)`: all ranks take rank 0's.
template <class Net>
concept HasSeed = requires(Net net, std::uint64_t seed) {
    { net.seed() } -> std::same_as<std::uint64_t>;
    net.set_seed(seed);
};

/// `used()`: a byte for each parameter of the manifest, which `backward` sets to 1 for those that it gives a gradient. A
/// parameter that no rank has used in a step stays as it is, and so does its optimizer state.
template <class Net>
concept TellsUsedParameters = requires(Net net) {
    { net.used() } -> std::convertible_to<std::span<std::uint8_t>>;
};

/// `loss(rows)` returns the sum and the weight without a gradient; only `evaluate` asks for it.
template <class Net, class Rows>
concept EvaluatesRows = requires(Net net, Rows rows) {
    { net.loss(rows) } -> std::same_as<LossSum>;
};

/// What DataParallel can train. No base class, no macros: these members are all.
template <class Net>
concept Model = HasFlatParameters<Net> && HasFlatGradients<Net> && HasManifest<Net> && std::movable<Net>;

/// A batch that knows its number of rows and can name a part of itself.
template <class Rows>
concept Sliceable = requires(Rows rows, Shard shard) {
    { rows.rows() } -> std::convertible_to<std::size_t>;
    rows.slice(shard);
};

}  // namespace lockstep
