// SPDX-License-Identifier: MIT
#include <lockstep/core/error.hpp>

#include <concepts>
#include <stdexcept>
#include <string>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

using namespace lockstep;

// One handler for all that goes wrong between ranks, one for all that lockstep throws.
static_assert(std::derived_from<Error, std::runtime_error>);
static_assert(std::derived_from<TimeoutError, TransportError> && std::derived_from<PeerLost, TransportError>);
static_assert(!std::derived_from<RemoteError, TransportError> && !std::derived_from<ShapeError, TransportError>);

template <class Type, ErrorKind Kind>
struct Case {
    using type = Type;
    static constexpr ErrorKind kind = Kind;
};
using Cases = boost::mpl::list<Case<ShapeError, ErrorKind::shape>, Case<FormatError, ErrorKind::format>,
                               Case<ConfigurationError, ErrorKind::configuration>, Case<RemoteError, ErrorKind::remote>,
                               Case<TransportError, ErrorKind::transport>, Case<TimeoutError, ErrorKind::timeout>,
                               Case<PeerLost, ErrorKind::peer_lost>>;

/// The failure that `current_failure(rank)` makes of what `work` throws.
template <class Work>
Failure failure_of(int rank, const Work& work) {
    try {
        work();
    } catch (...) {
        return current_failure(rank);
    }
    return {};
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_type_has_its_kind, Tested, Cases) {
    using Type = typename Tested::type;
    const Type error("what went wrong", 3);
    BOOST_TEST((error.kind() == Tested::kind));
    BOOST_TEST(error.rank() == 3);
    BOOST_TEST(error.what() == std::string("what went wrong"));
    BOOST_TEST(Type("no rank").rank() == -1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_error_survives_the_way_to_another_rank, Tested, Cases) {
    using Type = typename Tested::type;
    const Failure sent = failure_of(5, [] { throw Type("what went wrong", 3); });
    BOOST_TEST((sent.kind == Tested::kind));
    BOOST_TEST(sent.rank == 3);
    BOOST_TEST(sent.message == "what went wrong");
    BOOST_CHECK_EXCEPTION(raise(sent), Type, [](const Type& error) {
        return error.kind() == Tested::kind && error.rank() == 3 && error.what() == std::string("what went wrong");
    });
    // Also for those who only know the base.
    BOOST_CHECK_THROW(raise(sent), Error);
    BOOST_CHECK_THROW(raise(sent), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(an_error_of_no_rank_is_put_down_to_the_one_that_had_it) {
    const Failure failure = failure_of(5, [] { throw ShapeError("sizes differ"); });
    BOOST_TEST(failure.rank == 5);
    BOOST_TEST(failure.message == "sizes differ");
}

BOOST_AUTO_TEST_CASE(foreign_exceptions_become_remote_errors_that_name_the_rank) {
    const Failure failure = failure_of(1, [] { throw std::runtime_error("bad row 7"); });
    BOOST_TEST((failure.kind == ErrorKind::remote));
    BOOST_TEST(failure.rank == 1);
    BOOST_TEST(failure.message == "rank 1: bad row 7");
    BOOST_CHECK_THROW(raise(failure), RemoteError);
    const Failure strange = failure_of(2, [] { throw 42; });
    BOOST_TEST((strange.kind == ErrorKind::remote));
    BOOST_TEST(strange.message == "rank 2: an exception that is no std::exception");
}

BOOST_AUTO_TEST_CASE(a_kind_that_nobody_knows_is_still_an_error) {
    // A byte from the network may hold any value.
    BOOST_CHECK_EXCEPTION(raise({static_cast<ErrorKind>(200), 4, "from the future"}), RemoteError,
                          [](const RemoteError& error) { return error.rank() == 4; });
}

BOOST_AUTO_TEST_CASE(the_values_on_the_wire_never_change) {
    BOOST_TEST(static_cast<int>(ErrorKind::remote) == 0);
    BOOST_TEST(static_cast<int>(ErrorKind::shape) == 1);
    BOOST_TEST(static_cast<int>(ErrorKind::transport) == 2);
    BOOST_TEST(static_cast<int>(ErrorKind::timeout) == 3);
    BOOST_TEST(static_cast<int>(ErrorKind::peer_lost) == 4);
    BOOST_TEST(static_cast<int>(ErrorKind::format) == 5);
    BOOST_TEST(static_cast<int>(ErrorKind::configuration) == 6);
}

}  // namespace
