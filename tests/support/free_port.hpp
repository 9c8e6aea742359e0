// SPDX-License-Identifier: MIT
/// @file
/// A TCP port at which nobody listens, and which no other program is given meanwhile.
#pragma once

#include <stdexcept>
#include <string>

#include <sys/socket.h>

#include <lockstep/transport/sockets/address.hpp>

namespace test {

/// Bound, but not listening: connections to it are refused; a listener that reuses addresses can take it.
class FreePort {
public:
    FreePort() : socket_(lockstep::detail::open_socket(AF_INET, 0)) {
        const auto loopback = lockstep::detail::resolve("127.0.0.1:0").at(0);
        const int one = 1;
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (::bind(socket_.get(), loopback.get(), loopback.size) != 0) throw std::runtime_error("no free port");
        address_ = to_text(lockstep::detail::local_address(socket_.get()));
    }

    const std::string& address() const noexcept { return address_; }
    std::string number() const { return address_.substr(address_.rfind(':') + 1); }

private:
    lockstep::detail::Descriptor socket_;
    std::string address_;
};

}  // namespace test
