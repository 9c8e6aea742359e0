// SPDX-License-Identifier: MIT
/// @file
/// Whole control messages over one connection, before and beside the data: small, rare, each with a deadline.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lockstep/transport/sockets/frame.hpp>
#include <lockstep/transport/sockets/io.hpp>
#include <lockstep/transport/sockets/secret.hpp>

namespace lockstep::detail {

struct Message {
    Header header{.kind = FrameKind::goodbye};
    std::vector<std::byte> payload;

    FrameKind kind() const noexcept { return header.kind; }
};

/// The rest of a control message whose header has been read.
template <class System>
std::optional<Message> read_rest(int descriptor, const Header& header, const Deadline& deadline) {
    if (header.kind == FrameKind::data || header.bytes > max_control_bytes) return std::nullopt;
    Message message{header, std::vector<std::byte>(static_cast<std::size_t>(header.bytes))};
    if (!read_all<System>(descriptor, message.payload, deadline)) return std::nullopt;
    return message;
}

/// The next message, or nothing if the other side is gone, late, or speaks another language.
template <class System>
std::optional<Message> read_message(int descriptor, const Deadline& deadline) {
    HeaderBytes bytes{};
    if (!read_all<System>(descriptor, bytes, deadline)) return std::nullopt;
    const std::optional<Header> header = decode(bytes);
    return header ? read_rest<System>(descriptor, *header, deadline) : std::nullopt;
}

/// What a message that arrives outside a handshake means. `peer` is who sent it.
inline Failure failure_in(const std::optional<Message>& message, int peer) {
    if (message && message->kind() == FrameKind::failure) {
        if (auto failure = decode_failure(message->payload)) {
            if (failure->message.empty())
                failure->message = "rank " + std::to_string(peer) + " has failed without a word";
            return *failure;
        }
    }
    if (message && message->kind() == FrameKind::challenge) {
        return {ErrorKind::configuration, peer,
                "rank " + std::to_string(peer) + " has a LOCKSTEP_SECRET, and the rank that it has called has none"};
    }
    if (message && message->kind() == FrameKind::goodbye) {
        return {ErrorKind::peer_lost, peer, "rank " + std::to_string(peer) + " has left"};
    }
    return {ErrorKind::peer_lost, peer, "rank " + std::to_string(peer) + " is lost: its connection broke off"};
}

/// Says hello with the whole frame `hello`, and proves it. `readable()` waits until the listener has said something;
/// false if it does not in time. False if the listener is gone or late.
/// @throws ConfigurationError if the listener does not know the secret
template <class System, class Readable>
bool introduce(int descriptor, std::span<const std::byte> hello, const std::string& secret, int peer,
               const Deadline& deadline, const Readable& readable) {
    if (!write_all<System>(descriptor, hello, deadline)) return false;
    if (secret.empty()) return true;
    const Challenge own = random_challenge();
    if (!write_all<System>(descriptor, control_frame(FrameKind::challenge, own), deadline)) return false;
    if (!readable()) return false;
    const auto answer = read_message<System>(descriptor, deadline);
    if (!answer) return false;
    if (answer->kind() == FrameKind::failure) raise(failure_in(answer, peer));
    const std::span<const std::byte> payload = answer->payload;
    const Challenge theirs = challenge_in(payload);
    const auto introduction = hello.subspan(header_bytes);
    if (answer->kind() != FrameKind::proof ||
        !same_digest(payload.subspan((std::min)(payload.size(), theirs.size())),
                     proof_of(secret, Speaker::listener, introduction, own, theirs))) {
        throw ConfigurationError("rank " + std::to_string(peer) + " does not know this rank's LOCKSTEP_SECRET");
    }
    const Sha256Digest proof = proof_of(secret, Speaker::caller, introduction, own, theirs);
    return write_all<System>(descriptor, control_frame(FrameKind::proof, proof), deadline);
}

/// A connection that has not introduced itself yet: it may be anybody's. With a secret, it must also prove that it knows
/// it, before anything that it said is believed.
class Guest {
public:
    Guest(Descriptor descriptor, Deadline deadline) : descriptor_(std::move(descriptor)), deadline_(deadline) {}

    enum class State { waiting, ready, stranger };

    /// Reads what is there, without waiting. Lengths are believed only after magic and version, and are bounded. Who is
    /// of another job is told nothing.
    template <class System>
    State read(std::uint64_t job, const std::string& secret = {}) {
        heard_ = true;
        for (;;) {
            const std::size_t wanted = header_ ? header_bytes + static_cast<std::size_t>(header_->bytes) : header_bytes;
            if (bytes_.size() == wanted) {
                if (!header_) {
                    if (!parse_header()) return State::stranger;
                    continue;
                }
                const State state = take_frame<System>(job, secret);
                if (state != State::waiting) return state;
                header_.reset();
                bytes_.clear();
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

    /// Has it heard this rank's proof, and has not given one of its own? Then it has another secret.
    bool owes_proof() const noexcept { return due_ == FrameKind::proof; }
    /// Has anything been read from it, or found missing?
    bool heard() const noexcept { return heard_; }
    int descriptor() const noexcept { return descriptor_.get(); }
    const Deadline& deadline() const noexcept { return deadline_; }
    const Hello& hello() const noexcept { return *hello_; }
    Descriptor take() noexcept { return std::move(descriptor_); }

private:
    bool parse_header() {
        HeaderBytes bytes{};
        std::copy(bytes_.begin(), bytes_.end(), bytes.begin());
        header_ = decode(bytes);
        if (!header_ || header_->kind != due_) return false;
        if (due_ == FrameKind::hello) return header_->bytes <= max_hello_bytes;
        return header_->bytes == (due_ == FrameKind::challenge ? sizeof(Challenge) : sizeof(Sha256Digest));
    }

    /// The frame that was due is complete; waiting means that there is another one to come.
    template <class System>
    State take_frame(std::uint64_t job, const std::string& secret) {
        const auto payload = std::span<const std::byte>(bytes_).subspan(header_bytes);
        if (due_ == FrameKind::hello) {
            hello_ = decode_hello(payload);
            if (!hello_ || hello_->job != job) return State::stranger;
            if (secret.empty()) return State::ready;
            introduction_.assign(payload.begin(), payload.end());
            due_ = FrameKind::challenge;
            return State::waiting;
        }
        if (due_ == FrameKind::challenge) {
            callers_ = challenge_in(payload);
            own_ = random_challenge();
            std::vector<std::byte> answer(own_.begin(), own_.end());
            const Sha256Digest proof = proof_of(secret, Speaker::listener, introduction_, callers_, own_);
            answer.insert(answer.end(), proof.begin(), proof.end());
            const auto frame = control_frame(FrameKind::proof, answer);
            // Nothing else has been sent, so that there is room, and nobody waits.
            if (!write_all<System>(descriptor_.get(), frame, deadline_)) return State::stranger;
            due_ = FrameKind::proof;
            return State::waiting;
        }
        const Sha256Digest expected = proof_of(secret, Speaker::caller, introduction_, callers_, own_);
        return same_digest(payload, expected) ? State::ready : State::stranger;
    }

    Descriptor descriptor_;
    Deadline deadline_;
    std::vector<std::byte> bytes_;
    std::optional<Header> header_;
    std::optional<Hello> hello_;
    FrameKind due_ = FrameKind::hello;
    bool heard_ = false;
    std::vector<std::byte> introduction_;  ///< payload of the hello
    Challenge callers_{};
    Challenge own_{};
};

}  // namespace lockstep::detail
