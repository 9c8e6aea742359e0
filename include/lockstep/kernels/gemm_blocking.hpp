// SPDX-License-Identifier: MIT
/// @file
/// The loops around the micro kernels: cut the product into blocks that fit the caches, pack, multiply tile
/// by tile.
#pragma once

#include <algorithm>
#include <cstddef>

#include <lockstep/core/config.hpp>
#include <lockstep/core/shard.hpp>
#include <lockstep/kernels/gemm_micro.hpp>
#include <lockstep/kernels/gemm_packing.hpp>
#include <lockstep/kernels/matrix_view.hpp>

namespace lockstep::kernels::detail {

constexpr std::size_t ceil_div(std::size_t count, std::size_t size) noexcept { return (count + size - 1) / size; }
constexpr std::size_t round_up(std::size_t count, std::size_t size) noexcept { return ceil_div(count, size) * size; }
/// The size of pieces when `count` is cut into as few as possible of at most `most`, all about as large.
constexpr std::size_t even_piece(std::size_t count, std::size_t most) noexcept {
    return count <= most ? count : ceil_div(count, ceil_div(count, most));
}

/// Sizes of the blocks, in scalars.
template <class Scalar>
struct GemmBlocks {
    static constexpr std::size_t max_depth = sizeof(Scalar) == 4 ? 512 : 256;
    static constexpr std::size_t a_bytes = 256 * 1024;   // packed A: stays in L2
    static constexpr std::size_t b_bytes = 1024 * 1024;  // packed B: L2, or L3 where that is small

    std::size_t depth;       // of a block of A and B; decides the order of additions, so only k may change it
    std::size_t panel_rows;  // of a panel of A, which is as high as a tile
    std::size_t rows;        // of a block of A: whole panels
    std::size_t cols;        // of a block of B: whole panels

    GemmBlocks(const GemmKernels<Scalar>& kernels, std::size_t m, std::size_t n, std::size_t k) noexcept
        : depth(even_piece(k, max_depth)), panel_rows(even_piece(m, kernels.max_rows)) {
        const std::size_t bytes = depth * sizeof(Scalar);
        // Pieces about as large, so that none is a sliver.
        const auto whole = [bytes](std::size_t count, std::size_t panel, std::size_t room) {
            const std::size_t most = std::max<std::size_t>(room / (bytes * panel), 1) * panel;
            return count <= most ? count : round_up(even_piece(count, most), panel);
        };
        rows = whole(m, panel_rows, a_bytes);
        cols = whole(n, kernels.max_cols(), b_bytes);
    }
};

/// C (m, n) = or += A (m, k) B (k, n), none of the sizes zero. Any strides; `col_stride == 1` in C is the
/// fast way.
template <class Scalar>
class GemmLoops {
public:
    GemmLoops(const GemmKernels<Scalar>& kernels, MatrixView<const Scalar> a, MatrixView<const Scalar> b,
              MatrixView<Scalar> c)
        : kernels_(kernels),
          blocks_(kernels, c.rows, c.cols, a.cols),
          a_(a),
          b_(b),
          c_(c),
          // A part that few tiles read is not worth a copy; rows of B on pages of their own are sooner worth
          // it.
          pack_a_(c.cols > 8 * kernels.max_cols()),
          pack_b_(b.col_stride != 1 || c.rows > (b.row_stride <= page ? 16 : 4) * kernels.max_rows),
          pack_last_b_(pack_b_ || c.cols % kernels.narrow != 0) {
        // Whole cache lines for A, so that B starts at one.
        const std::size_t a_size = pack_a_ ? round_up(blocks_.rows * blocks_.depth, 64) : 0;
        const std::size_t b_size = pack_last_b_ ? (blocks_.cols + kernels.max_cols()) * blocks_.depth : 0;
        packed_a_ = gemm_workspace<Scalar>(a_size + b_size);
        packed_b_ = packed_a_ + a_size;
    }

    void run(bool accumulate) noexcept {
        for (std::size_t col = 0; col < c_.cols; col += blocks_.cols) {
            cols_ = {col, (std::min)(blocks_.cols, c_.cols - col)};
            for (std::size_t at = 0; at < a_.cols; at += blocks_.depth) {
                depth_ = {at, (std::min)(blocks_.depth, a_.cols - at)};
                accumulate_ = accumulate || at != 0;
                if (pack_last_b_) pack_b();
                for (std::size_t row = 0; row < c_.rows; row += blocks_.rows) {
                    rows_ = {row, (std::min)(blocks_.rows, c_.rows - row)};
                    if (pack_a_) pack_a();
                    multiply_block();
                }
            }
        }
    }

private:
    static constexpr std::size_t page = 4096 / sizeof(Scalar);
    static constexpr std::size_t max_tile = 14 * 128 / sizeof(Scalar);

    std::size_t height_at(std::size_t row) const noexcept { return (std::min)(blocks_.panel_rows, rows_.size - row); }
    std::size_t width_at(std::size_t col) const noexcept { return kernels_.next_cols(cols_.size - col); }
    /// A panel that does not fill its vectors needs the padding of a packed one.
    bool packs_b(std::size_t width) const noexcept { return pack_b_ || width != kernels_.padded(width); }

    void pack_a() noexcept {
        for (std::size_t row = 0; row < rows_.size; row += blocks_.panel_rows) {
            const std::size_t height = height_at(row);
            pack<Scalar>({&a_(rows_.begin + row, depth_.begin), depth_.size, height, a_.col_stride, a_.row_stride},
                         height, packed_a_ + row * depth_.size);
        }
    }

    void pack_b() noexcept {
        for (std::size_t col = 0, width = 0; col < cols_.size; col += width) {
            width = width_at(col);
            if (!packs_b(width)) continue;
            pack<Scalar>({&b_(depth_.begin, cols_.begin + col), depth_.size, width, b_.row_stride, b_.col_stride},
                         kernels_.padded(width), packed_b_ + col * depth_.size);
        }
    }

    void multiply_block() noexcept {
        for (std::size_t col = 0, width = 0; col < cols_.size; col += width) {
            width = width_at(col);
            const std::size_t padded = kernels_.padded(width);
            GemmTile<Scalar> tile;
            tile.depth = depth_.size;
            tile.b = packs_b(width) ? packed_b_ + col * depth_.size : &b_(depth_.begin, cols_.begin + col);
            tile.b_step = packs_b(width) ? padded : b_.row_stride;
            for (std::size_t row = 0; row < rows_.size; row += blocks_.panel_rows) {
                const std::size_t height = height_at(row);
                tile.a = pack_a_ ? packed_a_ + row * depth_.size : &a_(rows_.begin + row, depth_.begin);
                tile.a_row_stride = pack_a_ ? 1 : a_.row_stride;
                tile.a_step = pack_a_ ? height : a_.col_stride;
                tile.c = &c_(rows_.begin + row, cols_.begin + col);
                tile.c_step = c_.row_stride;
                tile.accumulate = accumulate_;
                if (width == padded && c_.col_stride == 1 && (height > 1 || padded > kernels_.lanes)) {
                    kernels_.of(height, padded)(tile);
                } else {
                    multiply_in_copy(tile, height, width, padded);
                }
            }
        }
    }

    /// A tile that is wider than what is left of C, or whose columns lie apart, is finished in a copy. So is
    /// one of one row, computed twice: tuned for some processors, GCC does not fuse multiplies with adds in a
    /// kernel of a single sum, and the bits would differ from those of larger tiles.
    void multiply_in_copy(GemmTile<Scalar> tile, std::size_t height, std::size_t width, std::size_t padded) noexcept {
        alignas(64) Scalar values[max_tile];
        Scalar* const c = tile.c;
        const std::size_t rows = std::max<std::size_t>(height, 2);
        const std::size_t c_row_stride = height == 1 ? 0 : c_.row_stride;
        if (height == 1) tile.a_row_stride = 0;
        tile.c = values;
        tile.c_step = padded;
        if (tile.accumulate) pack<Scalar>({c, rows, width, c_row_stride, c_.col_stride}, padded, values);
        kernels_.of(rows, padded)(tile);
        if (c_.col_stride == 1) {
            copy_panel<Scalar>({values, height, width, padded, 1}, c, c_.row_stride);
        } else if (c_.row_stride == 1) {
            copy_panel<Scalar>({values, width, height, 1, padded}, c, c_.col_stride);
        } else {
            for (std::size_t row = 0; row < height; ++row) {
                for (std::size_t col = 0; col < width; ++col) {
                    c[row * c_.row_stride + col * c_.col_stride] = values[row * padded + col];
                }
            }
        }
    }

    const GemmKernels<Scalar>& kernels_;
    GemmBlocks<Scalar> blocks_;
    MatrixView<const Scalar> a_;
    MatrixView<const Scalar> b_;
    MatrixView<Scalar> c_;
    bool pack_a_;
    bool pack_b_;
    bool pack_last_b_;  // even where B can be read in place, its last panel may have to be filled up
    Scalar* packed_a_ = nullptr;
    Scalar* packed_b_ = nullptr;
    Shard rows_;  // of the block at hand
    Shard cols_;
    Shard depth_;
    bool accumulate_ = false;
};

}  // namespace lockstep::kernels::detail
