// SPDX-License-Identifier: MIT
/// @file
/// How ranks of an MPI job hear of each other's failures, and of who has left.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include <lockstep/core/error.hpp>

namespace lockstep::detail {

/// One rank's ear and voice. Notices are messages of their own tag, looked for while waiting. They are sent from memory
/// that stays: nobody may be there to receive them.
class MpiFailures {
public:
    MpiFailures(MPI_Comm communicator, int rank, int size)
        : communicator_(communicator), rank_(rank), peers_(static_cast<std::size_t>(size)) {}

    /// The first failure stays, and is told to all.
    void fail(Failure failure) {
        hear();
        if (failure_) return;
        failure_ = std::move(failure);
        Notice notice;
        notice.kind = static_cast<std::int32_t>(failure_->kind);
        notice.rank = failure_->rank;
        notice.length = (std::min)(failure_->message.size(), notice.text.size());
        std::copy_n(failure_->message.begin(), notice.length, notice.text.begin());
        for (std::size_t peer = 0; peer < peers_.size(); ++peer) tell(peer, notice);
    }

    /// @throws what this rank or another has failed with
    void look() {
        if (!failure_) hear();
        if (failure_) raise(*failure_);
    }

    void count_sent(int peer) { ++peers_[static_cast<std::size_t>(peer)].sent; }
    void count_received(int peer) { ++peers_[static_cast<std::size_t>(peer)].received; }
    /// Has it left, with nothing of its messages still to come?
    bool is_gone(int peer) const {
        if (peer < 0) return false;
        const Peer& other = peers_[static_cast<std::size_t>(peer)];
        return other.left && other.received >= other.said;
    }

    /// Tells every peer how many messages it was sent: after these there is nothing to wait for.
    void say_goodbye() noexcept {
        int ended = 0;
        MPI_Finalized(&ended);
        if (ended != 0 || failure_) return;
        for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
            Notice notice;
            notice.kind = goodbye;
            notice.length = peers_[peer].sent;
            tell(peer, notice);
        }
    }

private:
    static constexpr int notice_tag = 3;
    static constexpr std::int32_t goodbye = -1;
    struct Notice {
        std::int32_t kind = 0;
        std::int32_t rank = -1;
        std::uint64_t length = 0;  ///< of the text, or messages sent
        std::array<char, 1008> text{};
    };
    struct Peer {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        std::uint64_t said = 0;
        bool left = false;
    };

    void tell(std::size_t peer, const Notice& notice) {
        if (static_cast<int>(peer) == rank_) return;
        static std::deque<Notice> told;  // Of the process: until MPI_Finalize somebody may fetch them.
        told.push_back(notice);
        MPI_Request request = MPI_REQUEST_NULL;
        if (MPI_Isend(&told.back(), sizeof(Notice), MPI_BYTE, static_cast<int>(peer), notice_tag, communicator_,
                      &request) == MPI_SUCCESS) {
            MPI_Request_free(&request);
        }
    }

    void hear() {
        for (;;) {
            int there = 0;
            MPI_Status status;
            if (MPI_Iprobe(MPI_ANY_SOURCE, notice_tag, communicator_, &there, &status) != MPI_SUCCESS || there == 0)
                return;
            Notice notice;
            MPI_Recv(&notice, sizeof notice, MPI_BYTE, status.MPI_SOURCE, notice_tag, communicator_, MPI_STATUS_IGNORE);
            if (notice.kind == goodbye) {
                Peer& peer = peers_[static_cast<std::size_t>(status.MPI_SOURCE)];
                peer.said = notice.length;
                peer.left = true;
            } else if (!failure_) {
                const std::size_t length = (std::min)(std::size_t{notice.length}, notice.text.size());
                failure_ =
                    Failure{static_cast<ErrorKind>(notice.kind), notice.rank, std::string(notice.text.data(), length)};
            }
        }
    }

    MPI_Comm communicator_;
    int rank_;
    std::vector<Peer> peers_;
    std::optional<Failure> failure_;
};

}  // namespace lockstep::detail
