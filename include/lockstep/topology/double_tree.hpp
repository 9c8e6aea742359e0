// SPDX-License-Identifier: MIT
/// @file
/// Topology DoubleTree: two binary trees, each for half of the data, in which the leaves of one are the inside of the other.
/// Idea: a leaf of a tree only sends, half of its link idle; in the other tree it is inside, and uses that half. Edges are
///       coloured so that in even rounds each rank sends along at most one edge and receives along at most one, and in odd
///       rounds along the others. Chunks follow one another up (and then down) the trees without a gap.
///       Order of addition: left child, right child, by tree; the same for all chunks of a tree.
/// Cost: 2(K + ceil(lg W)) rounds for each half with K chunks a tree; about n bytes sent in each half by every rank.
/// Choose it when: W is large and messages are long: bandwidth near Ring's at a latency that grows with lg W only.
/// Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
///         Computing 2009.
#pragma once

#include <vector>

#include <lockstep/core/concepts.hpp>

namespace lockstep {

namespace detail {

/// The two trees on `world_size` ranks, and the colours of their edges. Edge 2r + t leads from rank r up in tree t.
class TwoTrees {
public:
    constexpr explicit TwoTrees(int world_size)
        : size_(world_size), parents_(edges(), -1), depths_(edges(), 0), colours_(edges(), -1), below_(edges(), -1) {
        for (int edge = 0; edge < 2 * size_; ++edge) {
            parents_[at(edge)] = parent_in(edge / 2, edge % 2);
            if (const int above = parents_[at(edge)]; above >= 0) {
                int& slot = below_[at(2 * above)] < 0 ? below_[at(2 * above)] : below_[at(2 * above + 1)];
                slot = edge;
            }
        }
        for (int edge = 0; edge < 2 * size_; ++edge) {
            for (int up = edge / 2; parents_[at(2 * up + edge % 2)] >= 0; up = parents_[at(2 * up + edge % 2)]) {
                ++depths_[at(edge)];
            }
            if (depths_[at(edge)] > height_) height_ = depths_[at(edge)];
        }
        for (int edge = 0; edge < 2 * size_; ++edge) {
            if (parents_[at(edge)] < 0 || colours_[at(edge)] >= 0) continue;
            colours_[at(edge)] = 0;
            paint(same_parent(edge), 1, true);
            paint(same_child(edge), 1, false);
        }
    }

    constexpr int parent(int edge) const { return parents_[at(edge)]; }
    constexpr int colour(int edge) const { return colours_[at(edge)]; }
    constexpr int depth(int edge) const { return depths_[at(edge)]; }
    constexpr int height() const { return height_; }
    /// The edges on which `rank` receives on the way up: at most two; -1 for none.
    constexpr int child_edge(int rank, int which) const { return below_[at(2 * rank + which)]; }

private:
    constexpr std::size_t edges() const { return static_cast<std::size_t>(2 * size_); }
    static constexpr std::size_t at(int edge) { return static_cast<std::size_t>(edge); }

    /// Tree 0 is the in-order tree in which odd ranks are leaves. Tree 1 is its mirror image if W is even, else the same
    /// tree turned by one rank, so that the leaves of one are inside the other.
    constexpr int parent_in(int rank, int tree) const {
        if (tree == 0) return in_order_parent(rank);
        const bool even = size_ % 2 == 0;
        const int place = even ? size_ - 1 - rank : (rank + size_ - 1) % size_;
        const int above = in_order_parent(place);
        if (above < 0) return -1;
        return even ? size_ - 1 - above : (above + 1) % size_;
    }
    constexpr int in_order_parent(int place) const {
        if (place == 0) return -1;
        const int bit = place & -place;
        const int above = (place ^ bit) | (2 * bit);
        return above < size_ ? above : place ^ bit;
    }

    /// The other edge that leads to the same parent, or from the same child; -1 if there is none.
    constexpr int same_parent(int edge) const {
        const int above = parents_[at(edge)];
        const int first = below_[at(2 * above)];
        return first == edge ? below_[at(2 * above + 1)] : first;
    }
    constexpr int same_child(int edge) const {
        const int other = edge ^ 1;
        return parents_[at(other)] >= 0 ? other : -1;
    }
    /// Edges that share a child or a parent form paths and even circles: colours alternate along them.
    constexpr void paint(int edge, int colour, bool came_by_parent) {
        while (edge >= 0 && colours_[at(edge)] < 0) {
            colours_[at(edge)] = colour;
            edge = came_by_parent ? same_child(edge) : same_parent(edge);
            colour = 1 - colour;
            came_by_parent = !came_by_parent;
        }
    }

    int size_;
    int height_ = 0;
    std::vector<int> parents_;
    std::vector<int> depths_;
    std::vector<int> colours_;
    std::vector<int> below_;
};

}  // namespace detail

struct DoubleTree {
    static constexpr const char* name = "double_tree";
    /// Chunks a tree: more hide the height of the trees better, fewer cost fewer messages.
    static constexpr int pieces = 8;

    static constexpr int chunks(int) noexcept { return 2 * pieces; }
    /// The roots own: rank 0 tree 0's half of the data, and tree 1's root the other half.
    static constexpr bool owns(int rank, int world_size, int chunk) noexcept {
        const int other_root = world_size == 1 ? 0 : world_size % 2 == 0 ? world_size - 1 : 1;
        return rank == (chunk < pieces ? 0 : other_root);
    }

    template <class Emit>
    static constexpr void reduce(int rank, int world_size, Emit&& emit) {
        const detail::TwoTrees trees(world_size);
        for (int slot = 0; slot < 2 * (pieces + trees.height()); ++slot) {
            Step step{.fold = Fold::add};
            for (int tree = 0; tree < 2; ++tree) {
                const int edge = 2 * rank + tree;
                if (const int chunk = chunk_at(trees, edge, slot, trees.height() - trees.depth(edge)); chunk >= 0) {
                    step.send = {trees.parent(edge), chunk, 1};
                }
            }
            for (int which = 0; which < 2; ++which) {
                const int edge = trees.child_edge(rank, which);
                if (edge < 0) continue;
                if (const int chunk = chunk_at(trees, edge, slot, trees.height() - trees.depth(edge)); chunk >= 0) {
                    step.receive = {edge / 2, chunk, 1};
                }
            }
            if (step.send.any() || step.receive.any()) emit(step);
        }
    }

    template <class Emit>
    static constexpr void distribute(int rank, int world_size, Emit&& emit) {
        const detail::TwoTrees trees(world_size);
        for (int slot = 0; slot < 2 * (pieces + trees.height()); ++slot) {
            Step step;
            for (int tree = 0; tree < 2; ++tree) {
                const int edge = 2 * rank + tree;
                if (const int chunk = chunk_at(trees, edge, slot, trees.depth(edge) - 1); chunk >= 0) {
                    step.receive = {trees.parent(edge), chunk, 1};
                }
            }
            for (int which = 0; which < 2; ++which) {
                const int edge = trees.child_edge(rank, which);
                if (edge < 0) continue;
                if (const int chunk = chunk_at(trees, edge, slot, trees.depth(edge) - 1); chunk >= 0) {
                    step.send = {edge / 2, chunk, 1};
                }
            }
            if (step.send.any() || step.receive.any()) emit(step);
        }
    }

private:
    /// Which chunk crosses `edge` in this slot, if the first one does `delay` rounds after the start; -1 for none.
    static constexpr int chunk_at(const detail::TwoTrees& trees, int edge, int slot, int delay) {
        if (trees.parent(edge) < 0 || slot % 2 != trees.colour(edge)) return -1;
        const int piece = slot / 2 - delay;
        return piece < 0 || piece >= pieces ? -1 : piece + (edge % 2) * pieces;
    }
};

}  // namespace lockstep
