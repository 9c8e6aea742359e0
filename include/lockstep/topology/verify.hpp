// SPDX-License-Identifier: MIT
/// @file
/// A proof that a schedule sums: symbolic execution of all ranks at once, at compile time or at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/core/concepts.hpp>
#include <lockstep/topology/schedule.hpp>

namespace lockstep {

/// What `verify` found: nothing wrong (true), or the first fault with its place.
struct Verdict {
    const char* fault = nullptr;
    Half half = Half::reduce;
    int rank = -1;
    int peer = -1;
    int step = -1;
    int chunk = -1;

    constexpr explicit operator bool() const noexcept { return fault == nullptr; }

    std::string text() const {
        if (fault == nullptr) return "correct";
        std::string where = half == Half::reduce ? "reduce" : "distribute";
        const auto add = [&where](const char* name, int value) {
            if (value >= 0) where += std::string(", ") + name + " " + std::to_string(value);
        };
        add("rank", rank);
        add("peer", peer);
        add("step", step);
        add("chunk", chunk);
        return std::string(fault) + " (" + where + ")";
    }
};

namespace detail {

/// The symbolic content of one chunk on one rank: whose contributions it holds, and by which expression. The
/// expression's hash does not tell a + b from b + a, which IEEE 754 also holds equal.
struct SymbolicSum {
    std::uint64_t ranks = 0;
    std::uint64_t expression = 0;

    friend constexpr bool operator==(const SymbolicSum&, const SymbolicSum&) = default;
};

constexpr std::uint64_t scramble(std::uint64_t bits) noexcept {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
}

constexpr SymbolicSum plus(SymbolicSum left, SymbolicSum right) noexcept {
    return {left.ranks | right.ranks, scramble(scramble(left.expression) + scramble(right.expression) + 1)};
}

/// Runs one half on all ranks under the strictest rules a transport may have: no message is buffered, and a step
/// ends only when its send has been taken and its receive has come.
class SymbolicRun {
public:
    using Contents = std::vector<std::vector<SymbolicSum>>;  // [rank][chunk]

    constexpr SymbolicRun(Half half, const Schedule& schedule, Contents& contents)
        : half_(half), schedule_(schedule), contents_(contents), ranks_(schedule.size(), Progress{}) {}

    constexpr Verdict run() {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (const Verdict verdict = enter(rank); !verdict) return verdict;
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                if (done(rank)) continue;
                if (const Verdict verdict = receive(rank, moved); !verdict) return verdict;
                if (ranks_[rank].sent && ranks_[rank].received) {
                    ++ranks_[rank].step;
                    moved = true;
                    if (const Verdict verdict = enter(rank); !verdict) return verdict;
                }
            }
        }
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (done(rank)) {
                if (ranks_[rank].kept.empty()) continue;
                return fault("never adds what it keeps", rank, ranks_[rank].kept[0].from.peer,
                             ranks_[rank].kept[0].from.first_chunk);
            }
            const Step& step = current(rank);
            return fault("waits for ever", rank, ranks_[rank].received ? step.send.peer : step.receive.peer);
        }
        return {};
    }

private:
    struct Kept {
        Transfer from;
        std::vector<SymbolicSum> sums;
    };
    struct Progress {
        std::size_t step = 0;
        bool sent = false;
        bool received = false;
        std::vector<SymbolicSum> outbox{};
        std::vector<Kept> kept{};
    };

    constexpr bool done(std::size_t rank) const { return ranks_[rank].step == schedule_[rank].size(); }
    constexpr const Step& current(std::size_t rank) const { return schedule_[rank][ranks_[rank].step]; }

    constexpr Verdict fault(const char* what, std::size_t rank, int peer = -1, int chunk = -1) const {
        return {what, half_, static_cast<int>(rank), peer, static_cast<int>(ranks_[rank].step), chunk};
    }

    constexpr Verdict check(std::size_t rank, const Transfer& transfer) const {
        if (!transfer.any()) return {};
        if (transfer.peer >= static_cast<int>(ranks_.size())) return fault("names no rank", rank, transfer.peer);
        if (transfer.peer == static_cast<int>(rank)) return fault("talks to itself", rank, transfer.peer);
        const int chunks = static_cast<int>(contents_[rank].size());
        if (transfer.first_chunk < 0 || transfer.chunk_count < 1 ||
            transfer.first_chunk + transfer.chunk_count > chunks) {
            return fault("names chunks that do not exist", rank, transfer.peer, transfer.first_chunk);
        }
        return {};
    }

    constexpr Verdict enter(std::size_t rank) {
        if (done(rank)) return {};
        const Step& step = current(rank);
        for (const Transfer& transfer : {step.send, step.receive}) {
            if (const Verdict verdict = check(rank, transfer); !verdict) return verdict;
        }
        Progress& progress = ranks_[rank];
        progress.sent = !step.send.any();
        progress.received = !step.receive.any();
        progress.outbox.clear();
        for (int chunk = 0; step.send.any() && chunk < step.send.chunk_count; ++chunk) {
            progress.outbox.push_back(contents_[rank][static_cast<std::size_t>(step.send.first_chunk + chunk)]);
        }
        if (step.fold == Fold::add_kept && step.send.any()) {
            return fault("sends in a step that only adds what was kept", rank, step.send.peer, step.send.first_chunk);
        }
        return step.fold == Fold::add_kept ? add_kept(rank, step.receive) : Verdict{};
    }

    /// Adds to some chunks what was kept for them, and their own contributions, in the order of ranks.
    constexpr Verdict add_kept(std::size_t rank, const Transfer& transfer) {
        const auto fits = [&](const Kept& each) {
            return each.from.first_chunk == transfer.first_chunk && each.from.chunk_count == transfer.chunk_count;
        };
        std::vector<Kept>& kept = ranks_[rank].kept;
        if (transfer.any() || std::none_of(kept.begin(), kept.end(), fits)) {
            return fault("adds what it has not kept", rank, transfer.peer, transfer.first_chunk);
        }
        for (int offset = 0; offset < transfer.chunk_count; ++offset) {
            const int chunk = transfer.first_chunk + offset;
            SymbolicSum& mine = contents_[rank][static_cast<std::size_t>(chunk)];
            SymbolicSum sum{};
            bool twice = false;
            const auto add = [&](const SymbolicSum& next) {
                twice = twice || (sum.ranks & next.ranks) != 0;
                sum = sum.ranks == 0 ? next : plus(sum, next);
            };
            for (int peer = 0; peer < static_cast<int>(ranks_.size()); ++peer) {
                if (peer == static_cast<int>(rank)) add(mine);
                for (const Kept& each : kept) {
                    if (each.from.peer == peer && fits(each)) add(each.sums[static_cast<std::size_t>(offset)]);
                }
            }
            if (twice) return fault("adds a contribution twice", rank, -1, chunk);
            mine = sum;
        }
        kept.erase(std::remove_if(kept.begin(), kept.end(), fits), kept.end());
        return {};
    }

    constexpr Verdict receive(std::size_t rank, bool& moved) {
        const Step& step = current(rank);
        if (ranks_[rank].received) return {};
        const auto peer = static_cast<std::size_t>(step.receive.peer);
        if (done(peer) || ranks_[peer].sent || current(peer).send.peer != static_cast<int>(rank)) return {};
        const Transfer& sent = current(peer).send;
        if (sent.first_chunk != step.receive.first_chunk || sent.chunk_count != step.receive.chunk_count) {
            return fault("receives other chunks than are sent", rank, step.receive.peer, step.receive.first_chunk);
        }
        for (int offset = 0; offset < sent.chunk_count; ++offset) {
            const int chunk = sent.first_chunk + offset;
            SymbolicSum& mine = contents_[rank][static_cast<std::size_t>(chunk)];
            const SymbolicSum theirs = ranks_[peer].outbox[static_cast<std::size_t>(offset)];
            if (theirs.ranks == 0)
                return fault("receives a chunk that holds nothing yet", rank, step.receive.peer, chunk);
            if (step.fold == Fold::keep) {
                continue;  // Kept as a whole, below.
            } else if (step.fold == Fold::copy) {
                mine = theirs;
            } else if ((mine.ranks & theirs.ranks) != 0) {
                return fault("adds a contribution twice", rank, step.receive.peer, chunk);
            } else {
                mine = plus(mine, theirs);
            }
        }
        if (step.fold == Fold::keep) {
            ranks_[rank].kept.push_back({step.receive, ranks_[peer].outbox});
            std::size_t kept = 0;
            for (const Kept& each : ranks_[rank].kept) kept += each.sums.size();
            if (kept > contents_[rank].size()) {
                return fault("keeps more than a buffer holds", rank, step.receive.peer, step.receive.first_chunk);
            }
        }
        ranks_[rank].received = true;
        ranks_[peer].sent = true;
        moved = true;
        return {};
    }

    Half half_;
    const Schedule& schedule_;
    Contents& contents_;
    std::vector<Progress> ranks_;
};

}  // namespace detail

/// Proves that `Shape` is an all-reduce for `world_size` ranks: every contribution reaches every chunk exactly once,
/// owners hold finished chunks after the first half (all owners of a chunk the same bits), every send meets a receive
/// of the same chunks, nobody waits for ever, and all ranks end with the owners' bits. World sizes 1 to 64.
template <Topology Shape>
constexpr Verdict verify(int world_size) {
    if (world_size < 1 || world_size > 64) return {.fault = "can be verified for 1 to 64 ranks only"};
    const auto world = static_cast<std::size_t>(world_size);
    const int chunks = Shape::chunks(world_size);
    if (chunks < 1) return {.fault = "cuts the buffer into no chunk at all"};
    const std::uint64_t everyone = world_size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << world_size) - 1;

    detail::SymbolicRun::Contents contents(world, std::vector<detail::SymbolicSum>{});
    for (std::size_t rank = 0; rank < world; ++rank) {
        contents[rank] =
            std::vector<detail::SymbolicSum>(static_cast<std::size_t>(chunks),
                                             detail::SymbolicSum{std::uint64_t{1} << rank, detail::scramble(rank + 1)});
    }
    const Schedule reduce = schedule_of<Shape>(Half::reduce, world_size);
    if (const Verdict verdict = detail::SymbolicRun(Half::reduce, reduce, contents).run(); !verdict) return verdict;

    std::vector<detail::SymbolicSum> finished(static_cast<std::size_t>(chunks), detail::SymbolicSum{});
    for (int chunk = 0; chunk < chunks; ++chunk) {
        auto& result = finished[static_cast<std::size_t>(chunk)];
        for (int rank = 0; rank < world_size; ++rank) {
            auto& held = contents[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
            if (!Shape::owns(rank, world_size, chunk)) {
                held = {};  // From here on only owners' chunks count.
                continue;
            }
            if (held.ranks != everyone) {
                return {"owns a chunk that lacks contributions", Half::reduce, rank, -1, -1, chunk};
            }
            if (result.ranks != 0 && !(result == held)) {
                return {"owns a chunk with other bits than another owner", Half::reduce, rank, -1, -1, chunk};
            }
            result = held;
        }
        if (result.ranks == 0) return {"has a chunk that nobody owns", Half::reduce, -1, -1, -1, chunk};
    }

    const Schedule distribute = schedule_of<Shape>(Half::distribute, world_size);
    if (const Verdict verdict = detail::SymbolicRun(Half::distribute, distribute, contents).run(); !verdict) {
        return verdict;
    }
    for (int rank = 0; rank < world_size; ++rank) {
        for (int chunk = 0; chunk < chunks; ++chunk) {
            const auto& held = contents[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
            if (!(held == finished[static_cast<std::size_t>(chunk)])) {
                return {"ends without the owner's chunk", Half::distribute, rank, -1, -1, chunk};
            }
        }
    }
    return {};
}

/// Is `Shape` correct for all world sizes from 1 to `largest`? For static_assert; small worlds keep it quick.
template <Topology Shape>
constexpr bool verified_to(int largest) {
    for (int world_size = 1; world_size <= largest; ++world_size) {
        if (!verify<Shape>(world_size)) return false;
    }
    return true;
}

}  // namespace lockstep
