// SPDX-License-Identifier: MIT
/// @file
/// Every error of the library: one base, one type per kind, and a form that can travel between ranks.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <lockstep/core/config.hpp>

namespace lockstep {

/// The kind of an error; its value is what travels on the wire.
enum class ErrorKind : std::uint8_t {
    remote = 0,         ///< a foreign exception (any std::exception) thrown on some rank
    shape = 1,          ///< sizes, lengths or models that do not fit together
    transport = 2,      ///< bytes could not be carried, or ranks disagree about the call
    timeout = 3,        ///< a deadline passed
    peer_lost = 4,      ///< a rank died or left
    format = 5,         ///< a file or a message is not what it should be
    configuration = 6,  ///< an argument, flag or environment variable is wrong
};

/// An error as a value: what a rank tells the others. `rank` is the rank at fault, or -1 if none is known.
struct Failure {
    ErrorKind kind = ErrorKind::transport;
    int rank = -1;
    std::string message;
};

/// Base of every exception that lockstep throws. `what()` names the thing at fault.
class Error : public std::runtime_error {
public:
    explicit Error(Failure failure) : std::runtime_error(failure.message), kind_(failure.kind), rank_(failure.rank) {}

    ErrorKind kind() const noexcept { return kind_; }
    /// The rank at fault, or -1 when the error concerns no rank.
    int rank() const noexcept { return rank_; }

private:
    ErrorKind kind_;
    int rank_;
};

namespace detail {

template <ErrorKind Kind, class Base = Error>
class ErrorOf : public Base {
public:
    explicit ErrorOf(std::string message, int rank = -1) : Base(Failure{Kind, rank, std::move(message)}) {}

protected:
    explicit ErrorOf(Failure failure) : Base(std::move(failure)) {}
};

}  // namespace detail

using ShapeError = detail::ErrorOf<ErrorKind::shape>;
using FormatError = detail::ErrorOf<ErrorKind::format>;
using ConfigurationError = detail::ErrorOf<ErrorKind::configuration>;
/// An exception of the user's code, thrown on another rank; `what()` holds its text.
using RemoteError = detail::ErrorOf<ErrorKind::remote>;
using TransportError = detail::ErrorOf<ErrorKind::transport>;
/// Both are TransportErrors, so one handler can catch all that goes wrong between ranks.
using TimeoutError = detail::ErrorOf<ErrorKind::timeout, TransportError>;
using PeerLost = detail::ErrorOf<ErrorKind::peer_lost, TransportError>;

/// Throws `failure` as the exception type of its kind.
[[noreturn]] inline void raise(const Failure& failure) {
    switch (failure.kind) {
        case ErrorKind::shape: throw ShapeError(failure.message, failure.rank);
        case ErrorKind::transport: throw TransportError(failure.message, failure.rank);
        case ErrorKind::timeout: throw TimeoutError(failure.message, failure.rank);
        case ErrorKind::peer_lost: throw PeerLost(failure.message, failure.rank);
        case ErrorKind::format: throw FormatError(failure.message, failure.rank);
        case ErrorKind::configuration: throw ConfigurationError(failure.message, failure.rank);
        case ErrorKind::remote: break;
    }
    throw RemoteError(failure.message, failure.rank);
}

/// The exception now being handled, as a value that other ranks can be told. Call it inside a catch block.
inline Failure current_failure(int rank) {
    const std::string who = "rank " + std::to_string(rank) + ": ";
    try {
        throw;
    } catch (const Error& error) {
        return {error.kind(), error.rank() >= 0 ? error.rank() : rank, error.what()};
    } catch (const std::exception& error) {
        return {ErrorKind::remote, rank, who + error.what()};
    } catch (...) {
        return {ErrorKind::remote, rank, who + "an exception that is no std::exception"};
    }
}

}  // namespace lockstep
