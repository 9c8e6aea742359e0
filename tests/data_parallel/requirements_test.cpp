// SPDX-License-Identifier: MIT
// The least that a policy of DataParallel may be, and that each part of it is missed when it is not there. What the
// compiler then says is tested in compile_fail.
#include <lockstep/data_parallel/requirements.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <lockstep/data_parallel/data_parallel.hpp>
#include <lockstep/topology/naive.hpp>
#include <lockstep/topology/tree.hpp>
#include <lockstep/transport/solo.hpp>
#include <lockstep/transport/threads.hpp>

namespace {

using namespace lockstep;
using detail::check_requirements;
using detail::meant_as_topology;

struct Slope {
    std::size_t count;
    std::size_t rows() const { return count; }
    Slope slice(Shard shard) const { return {shard.size}; }
};
static_assert(Sliceable<Slope>);

struct LeastModel {
    using scalar_type = double;
    std::array<double, 2> numbers{};
    std::span<double> parameters() { return std::span(numbers).first(1); }
    std::span<double> gradients() { return std::span(numbers).last(1); }
    Manifest manifest() const { return {{"slope", {1}}}; }
    LossSum backward(const Slope& rows) {
        numbers[1] += 3 * static_cast<double>(rows.count);
        return {2 * static_cast<double>(rows.count), static_cast<double>(rows.count)};
    }
};

struct LeastTransport {
    std::vector<Failure>* failures;
    std::vector<Request>* requests;
    int rank() const { return 0; }
    int world_size() const { return 1; }
    Call begin(const Request& request) {
        requests->push_back(request);
        return {.request = request};
    }
    void exchange(const Call&, Outgoing, Incoming) { throw TransportError("there is nobody"); }
    void fail(Failure failure) { failures->push_back(failure); }
    Traffic traffic() const { return {}; }
};

struct LeastTopology {
    static constexpr const char* name = "least";
    static constexpr int chunks(int) { return 1; }
    static constexpr bool owns(int, int, int) { return true; }
    template <class Emit>
    static constexpr void reduce(int, int, Emit&&) {}
    template <class Emit>
    static constexpr void distribute(int, int, Emit&&) {}
};

struct LeastReducer {
    template <class Link, class Scalar, class Operator = Sum, class Action = KeepSum>
    void all_reduce(Link&, std::span<Scalar> buffer, Operator = {}, Action&& owner_acts = {}) {
        owner_acts(buffer, 0);
    }
};

static_assert(Model<LeastModel> && RunsBackward<LeastModel, Slope> && !RunsBackward<LeastModel, int>);
static_assert(Transport<LeastTransport> && Transport<Solo> && Transport<Threads>);
static_assert(Topology<LeastTopology> && Topology<Naive> && Topology<Tree> && Topology<Ring>);
static_assert(Reducer<LeastReducer, LeastTransport> && Reducer<LeastTopology, LeastTransport>);
static_assert(!Topology<LeastReducer> && !ReducesOver<LeastTopology, LeastTransport, float>);
static_assert(meant_as_topology<LeastTopology> && !meant_as_topology<LeastReducer>);
static_assert(check_requirements<LeastModel, LeastTopology, LeastTransport>());
static_assert(check_requirements<LeastModel, LeastReducer, LeastTransport>());
static_assert(check_requirements<LeastModel, Ring, Solo>());

// Without one member each: a deleted one hides the base's.
struct WithoutParameters : LeastModel {
    void parameters() = delete;
};
struct WithoutGradients : LeastModel {
    void gradients() = delete;
};
struct WithoutManifest : LeastModel {
    void manifest() const = delete;
};
struct OfWholeNumbers : LeastModel {
    using scalar_type = int;
};
struct OfOtherScalars : LeastModel {
    using scalar_type = float;
};
static_assert(!HasFlatParameters<WithoutParameters> && HasFlatGradients<WithoutParameters>);
static_assert(!HasFlatGradients<WithoutGradients> && HasFlatParameters<WithoutGradients>);
static_assert(!HasManifest<WithoutManifest> && HasFlatGradients<WithoutManifest>);
static_assert(!HasScalarType<OfWholeNumbers> && !HasFlatParameters<OfOtherScalars>);
static_assert(!Model<WithoutParameters> && !Model<WithoutGradients> && !Model<WithoutManifest>);
static_assert(!Model<OfWholeNumbers> && !Model<OfOtherScalars>);

struct WithoutRank : LeastTransport {
    void rank() const = delete;
};
struct WithoutWorldSize : LeastTransport {
    void world_size() const = delete;
};
struct WithoutBegin : LeastTransport {
    void begin(const Request&) = delete;
};
struct WithoutExchange : LeastTransport {
    void exchange(const Call&, Outgoing, Incoming) = delete;
};
struct WithoutFail : LeastTransport {
    void fail(Failure) = delete;
};
struct WithoutTraffic : LeastTransport {
    void traffic() const = delete;
};
struct WithoutCopies : LeastTransport {
    WithoutCopies(const WithoutCopies&) = delete;
};
static_assert(!KnowsItsRank<WithoutRank> && !KnowsItsRank<WithoutWorldSize> && KnowsItsRank<WithoutBegin>);
static_assert(!NumbersCalls<WithoutBegin> && !ExchangesBytes<WithoutExchange> && !FailsTogether<WithoutFail>);
static_assert(!CountsTraffic<WithoutTraffic> && CountsTraffic<WithoutRank>);
static_assert(!Transport<WithoutRank> && !Transport<WithoutWorldSize> && !Transport<WithoutBegin>);
static_assert(!Transport<WithoutExchange> && !Transport<WithoutFail> && !Transport<WithoutTraffic>);
static_assert(!Transport<WithoutCopies>);

struct WithoutName : LeastTopology {
    static void name() = delete;
};
struct WithoutChunks : LeastTopology {
    static void chunks(int) = delete;
};
struct WithoutOwners : LeastTopology {
    static void owns(int, int, int) = delete;
};
struct WithoutReduce : LeastTopology {
    static void reduce() = delete;
};
struct WithoutDistribute : LeastTopology {
    static void distribute() = delete;
};
static_assert(!HasName<WithoutName> && !CutsIntoChunks<WithoutChunks> && !NamesOwners<WithoutOwners>);
static_assert(!EmitsReduce<WithoutReduce> && !EmitsDistribute<WithoutDistribute>);
static_assert(!Topology<WithoutName> && !Topology<WithoutChunks> && !Topology<WithoutOwners>);
static_assert(!Topology<WithoutReduce> && !Topology<WithoutDistribute>);
static_assert(meant_as_topology<WithoutName> && meant_as_topology<WithoutChunks>, "three members say what it is");

/// One step over the least of everything.
template <class Strategy>
void check_step() {
    std::vector<Failure> failures;
    std::vector<Request> requests;
    DataParallel<LeastModel, Strategy, LeastTransport> replica{LeastModel{}, LeastTransport{&failures, &requests}};
    const MeanLoss loss = replica.backward(Slope{4});
    BOOST_TEST((loss.mean == 2 && loss.weight == 4));
    BOOST_TEST(replica.model().gradients()[0] == 3);
    BOOST_TEST(failures.empty());
    BOOST_CHECK_THROW(replica.backward(Slope{0}), ShapeError);
    BOOST_TEST(failures.size() == 1U);
    BOOST_TEST(!requests.empty());
}

BOOST_AUTO_TEST_CASE(the_least_topology_will_do) { check_step<LeastTopology>(); }
BOOST_AUTO_TEST_CASE(the_least_reducer_will_do) { check_step<LeastReducer>(); }

}  // namespace
