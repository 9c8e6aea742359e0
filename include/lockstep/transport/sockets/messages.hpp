// SPDX-License-Identifier: MIT
/// @file
/// Whole control messages over one connection, before and beside the data: small, rare, each with a deadline.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/transport/sockets/frame.hpp>
#include <lockstep/transport/sockets/io.hpp>

namespace lockstep::detail {

struct Message {
    FrameKind kind = FrameKind::goodbye;
    std::vector<std::byte> payload;
};

/// The next message, or nothing if the other side is gone, late, or speaks another language.
template <class System>
std::optional<Message> read_message(int descriptor, const Deadline& deadline) {
    HeaderBytes bytes{};
    if (!read_all<System>(descriptor, bytes, deadline)) return std::nullopt;
    const std::optional<Header> header = decode(bytes);
    if (!header || header->kind == FrameKind::data || header->bytes > max_control_bytes) return std::nullopt;
    Message message{header->kind, std::vector<std::byte>(static_cast<std::size_t>(header->bytes))};
    if (!read_all<System>(descriptor, message.payload, deadline)) return std::nullopt;
    return message;
}

/// What a message that arrives outside a handshake means. `peer` is who sent it.
inline Failure failure_in(const std::optional<Message>& message, int peer) {
    if (message && message->kind == FrameKind::failure) {
        if (const auto failure = decode_failure(message->payload)) return *failure;
    }
    if (message && message->kind == FrameKind::goodbye) {
        return {ErrorKind::peer_lost, peer, "rank " + std::to_string(peer) + " has left"};
    }
    return {ErrorKind::peer_lost, peer, "rank " + std::to_string(peer) + " is lost: its connection broke off"};
}

/// A connection that has not introduced itself yet: it may be anybody's.
class Guest {
public:
    Guest(Descriptor descriptor, Deadline deadline) : descriptor_(std::move(descriptor)), deadline_(deadline) {}

    enum class State { waiting, ready, stranger };

    /// Reads what is there, without waiting. Lengths are believed only after magic and version, and are bounded.
    template <class System>
    State read() {
        for (;;) {
            const std::size_t wanted = header_ ? header_bytes + static_cast<std::size_t>(header_->bytes) : header_bytes;
            if (bytes_.size() == wanted) {
                if (header_) return parse();
                if (!parse_header()) return State::stranger;
                continue;
            }
            const std::size_t had = bytes_.size();
            bytes_.resize(wanted);
            const Moved step = receive_some<System>(descriptor_.get(), std::span(bytes_).subspan(had));
            bytes_.resize(had + step.bytes);
            if (step.state == Moved::State::closed) return State::stranger;
            if (step.state == Moved::State::blocked) return deadline_.passed() ? State::stranger : State::waiting;
        }
    }

    int descriptor() const noexcept { return descriptor_.get(); }
    const Deadline& deadline() const noexcept { return deadline_; }
    const Hello& hello() const noexcept { return *hello_; }
    Descriptor take() noexcept { return std::move(descriptor_); }

private:
    bool parse_header() {
        HeaderBytes bytes{};
        std::copy(bytes_.begin(), bytes_.end(), bytes.begin());
        header_ = decode(bytes);
        return header_ && header_->kind == FrameKind::hello && header_->bytes <= max_hello_bytes;
    }
    State parse() {
        hello_ = decode_hello(std::span(bytes_).subspan(header_bytes));
        return hello_ ? State::ready : State::stranger;
    }

    Descriptor descriptor_;
    Deadline deadline_;
    std::vector<std::byte> bytes_;
    std::optional<Header> header_;
    std::optional<Hello> hello_;
};

}  // namespace lockstep::detail
