// SPDX-License-Identifier: MIT
/// @file
/// Which elements of the flat parameters belong together: groups with options of their own, and pieces with state here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/manifest.hpp>
#include <lockstep/core/shard.hpp>

namespace lockstep {

/// For `add_group`: what weight decay should usually spare, everything with fewer than two axes or a name that ends in
/// "bias". Biases and the gains of norms are sums' offsets and scales, not directions that could grow without need.
inline bool biases_and_norms(const Parameter& parameter) noexcept {
    constexpr std::string_view bias = "bias";
    const std::string_view name = parameter.name;
    return parameter.shape.size() < 2 || (name.size() >= bias.size() && name.substr(name.size() - bias.size()) == bias);
}

namespace detail {

/// The group of every element, as runs that follow one another from element 0 on. At first all is group 0.
class GroupRuns {
public:
    /// Everything that `takes(parameter)` and that still is in group 0 becomes part of `group`.
    template <class Predicate>
    void add(const Manifest& manifest, const Predicate& takes, std::size_t group) {
        std::vector<Run> changed;
        std::size_t end = 0;
        for (const Parameter& parameter : manifest) {
            const std::size_t now = at(end)->group;
            end += parameter.numel();
            changed.push_back({end, now == 0 && takes(parameter) ? group : now});
        }
        changed.push_back(runs_.back());
        runs_.clear();
        for (const Run& run : changed) {
            if (!runs_.empty() && runs_.back().group == run.group) runs_.back().end = run.end;
            else runs_.push_back(run);
        }
    }

    /// `visit(begin, end, group)` for all of `range`, in order.
    template <class Visit>
    void for_each(const Shard& range, const Visit& visit) const {
        std::size_t begin = range.begin;
        for (auto run = at(begin); begin < range.end(); ++run) {
            const std::size_t end = (std::min)(run->end, range.end());
            visit(begin, end, run->group);
            begin = end;
        }
    }

    /// `visit(end, group)` for every run.
    template <class Visit>
    void for_each_run(const Visit& visit) const {
        for (const Run& run : runs_) visit(run.end, run.group);
    }

private:
    struct Run {
        std::size_t end;
        std::size_t group;
    };
    std::vector<Run>::const_iterator at(std::size_t element) const {
        return std::upper_bound(runs_.begin(), runs_.end(), element,
                                [](std::size_t index, const Run& run) { return index < run.end; });
    }

    std::vector<Run> runs_{{static_cast<std::size_t>(-1), 0}};
};

/// Pieces of the flat parameters, and where the state of each begins when they are laid side by side.
class Pieces {
public:
    Pieces() = default;
    /// Ascending, without overlap; neighbours become one, empty ones none. @throws ShapeError if they are not, or leave
    /// `size`
    Pieces(std::span<const Shard> pieces, std::size_t size) {
        std::size_t end = 0;
        for (const Shard& piece : pieces) {
            if (piece.begin < end || piece.begin > size || piece.size > size - piece.begin) {
                throw ShapeError("the piece of " + std::to_string(piece.size) + " elements from " +
                                 std::to_string(piece.begin) + " on overlaps the one before, or the end of " +
                                 std::to_string(size));
            }
            end = piece.end();
            if (piece.size == 0) continue;
            if (!list_.empty() && list_.back().range.end() == piece.begin) list_.back().range.size += piece.size;
            else list_.push_back({piece, size_});
            size_ += piece.size;
        }
    }

    /// Elements of all pieces.
    std::size_t size() const noexcept { return size_; }

    /// Where the state of `range` begins, or -1 if it is not all in one piece.
    std::size_t offset_of(const Shard& range) const noexcept {
        if (range.size == 0) return 0;
        const auto next =
            std::upper_bound(list_.begin(), list_.end(), range.begin,
                             [](std::size_t index, const Piece& piece) { return index < piece.range.begin; });
        if (next == list_.begin()) return none;
        const Piece& piece = *(next - 1);
        return range.end() <= piece.range.end() ? piece.offset + (range.begin - piece.range.begin) : none;
    }
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// `visit(range, offset)` for each.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const Piece& piece : list_) visit(piece.range, piece.offset);
    }

    friend bool operator==(const Pieces&, const Pieces&) = default;

private:
    struct Piece {
        Shard range;
        std::size_t offset;
        friend bool operator==(const Piece&, const Piece&) = default;
    };
    std::vector<Piece> list_;
    std::size_t size_ = 0;
};

}  // namespace detail

}  // namespace lockstep
