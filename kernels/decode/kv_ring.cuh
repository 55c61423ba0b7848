// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/bank_swizzle.hpp>
#include <kernels/decode/config.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/warp_attention.cuh>

namespace nanoserve {

/// The block table of one sequence, as far as one warp walks it: 32 entries are in the lanes, the
/// next 32 on their way. A tile has one entry, or with blocks of fewer tokens 16 / block_size, side
/// by side.
template <class Config>
class BlockIds {
  public:
    __device__ BlockIds(const DecodeArgs& args, int seq, const TileWalk& walk)
        : table_(args.block_tables + std::int64_t{seq} * args.max_blocks_per_seq),
          num_entries_(args.max_blocks_per_seq),
          block_size_log2_(args.block_size_log2),
          next_tile_(walk.tile(static_cast<int>(lane_index() >> entries_log2()))),
          tiles_per_turn_(kWarpSize >> entries_log2() << walk.stride_log2) {
        ptx::keep(table_);
        ptx::keep(next_tile_);
        current_ = look_up();
        next_ = look_up();
    }

    /// The block of tile i; for i = 0, 1, 2, ... in turn. In the general case each lane gets that
    /// of row lane % 16.
    __device__ BlockId operator[](int i) {
        const int lane = i << entries_log2() & (kWarpSize - 1);
        if (lane == 0 && i > 0) {
            current_ = next_;
            next_ = look_up();
        }
        return __shfl_sync(~0u, current_, lane + entry_of(lane_index() % Config::kTileTokens));
    }

  private:
    // Of a tile: log2 of how many entries it has, and which of them is that of a row.
    [[nodiscard]] __device__ int entries_log2() const {
        return Config::kGeneral ? max(0, 4 - block_size_log2_) : 0;
    }
    [[nodiscard]] __device__ int entry_of(unsigned row) const {
        return Config::kGeneral ? static_cast<int>(row >> block_size_log2_) : 0;
    }

    // The entry of this lane's next tile; those behind the table's end are not read.
    __device__ BlockId look_up() {
        const int block = Config::kGeneral
                              ? (next_tile_ >> max(0, block_size_log2_ - 4) << entries_log2()) +
                                    static_cast<int>(lane_index() & ((1u << entries_log2()) - 1))
                              : next_tile_ >> (block_size_log2_ - 4);
        next_tile_ += tiles_per_turn_;
        return block < num_entries_ ? ptx::load(table_ + block) : -1;
    }

    const BlockId* table_;
    int num_entries_, block_size_log2_, next_tile_, tiles_per_turn_;
    BlockId current_, next_;
};

/// The block of tile 0 of a sequence; in the general case each lane gets that of row lane % 16.
template <class Config>
__device__ BlockId first_block(const DecodeArgs& args, int seq) {
    const int entry =
        Config::kGeneral
            ? static_cast<int>(lane_index() % Config::kTileTokens >> args.block_size_log2)
            : 0;
    const BlockId* table = args.block_tables + std::int64_t{seq} * args.max_blocks_per_seq;
    return entry < args.max_blocks_per_seq ? ptx::load(table + entry) : -1;
}

/// One warp's ring of tiles on their way from the pool: kStages tiles of K and V are asked for
/// before the first is used. For its tiles no warp waits for another.
template <class Config>
class KVRing {
    // Rows of which a warp copies kLanesPerRow chunks at once, and how often to copy a tile and a
    // row.
    static constexpr int kRowsPerCopy = kWarpSize / Config::kLanesPerRow;
    static constexpr int kCopies = Config::kTileTokens / kRowsPerCopy;
    static constexpr int kCopiesAlongRow = Config::kChunks / Config::kLanesPerRow;

  public:
    /// @param first_token that is visible; other than 0 only in the general case
    __device__ KVRing(const DecodeArgs& args, int kv_head, std::uint32_t shared,
                      int first_token = 0)
        : num_blocks_(static_cast<unsigned>(args.num_blocks)),
          block_bytes_(args.block_bytes),
          token_bytes_(args.token_bytes),
          copy_bytes_(kRowsPerCopy * args.token_bytes),
          block_mask_((1u << args.block_size_log2) - 1),
          first_token_(first_token),
          shared_(shared),
          row_(lane_index() / Config::kLanesPerRow) {
        const unsigned chunk = lane_index() % Config::kLanesPerRow;
        keys_ = args.k_cache + std::uint64_t{args.head_bytes} * static_cast<unsigned>(kv_head) +
                chunk * 16;
        if constexpr (!Config::kGeneral) {
            keys_ += std::uint64_t{token_bytes_} * row_;
        }
        keys_to_values_ = args.v_cache - args.k_cache;
        target_ = chunk_offset<Config::kRowBytes>(row_, chunk);
        ptx::keep(keys_);
        ptx::keep(target_);
        ptx::keep(row_);
        ptx::keep(shared_);
        ptx::keep(copy_bytes_);
    }

    /// Asks for a tile's rows, the first num_tokens of them, into `stage`; rows behind them become
    /// zeros. A block that is not in the pool has no rows. id: what BlockIds has for this tile.
    __device__ void ask(BlockId id, int tile, int num_tokens, int stage) {
        if constexpr (Config::kGeneral) {
            ask_for_rows(id, tile, num_tokens, stage);
            return;
        }
        const bool absent = static_cast<unsigned>(id) >= num_blocks_;
        note_absent(stage, absent);
        saw_absent_ |= absent;
        if (absent) {
            return;
        }
        const char* keys =
            keys_ + std::uint64_t{block_bytes_} * static_cast<unsigned>(id) +
            std::uint64_t{token_bytes_} * (static_cast<unsigned>(tile) * 16 & block_mask_);
        if (num_tokens >= Config::kTileTokens) {
            copy_rows<true>(keys, num_tokens, this->keys(stage));
        } else {
            copy_rows<false>(keys, num_tokens, this->keys(stage));
        }
    }

    /// Whether nothing of the tile in `stage` is in the pool.
    [[nodiscard]] __device__ bool is_absent(int stage) const { return (absent_ >> stage & 1) != 0; }
    [[nodiscard]] __device__ bool saw_absent() const { return saw_absent_; }

    /// Those of the tile in `stage`, of which num_tokens are left, that are in the pool.
    [[nodiscard]] __device__ auto tokens(int stage, int num_tokens) const {
        if constexpr (Config::kGeneral) {
            return TokenSet{__shfl_sync(~0u, tokens_, stage)};
        } else {
            return FirstTokens{num_tokens};
        }
    }

    /// The K rows in `stage`; the V rows lie behind them.
    [[nodiscard]] __device__ std::uint32_t keys(int stage) const {
        return shared_ + static_cast<unsigned>(stage * Config::kStageBytes);
    }

  private:
    __device__ void note_absent(int stage, bool absent) {
        absent_ = (absent_ & ~(1u << stage)) | (absent ? 1u << stage : 0u);
    }

    // Every row finds its own block: lanes r and r + 16 have the one of row r.
    __device__ void ask_for_rows(BlockId id, int tile, int num_tokens, int stage) {
        const int first_of_tile = tile * Config::kTileTokens;
        const int of_lane = static_cast<int>(lane_index() % Config::kTileTokens);
        const bool used = of_lane < num_tokens && first_of_tile + of_lane >= first_token_;
        const bool in_pool = static_cast<unsigned>(id) < num_blocks_;
        const unsigned present = __ballot_sync(~0u, used && in_pool) & 0xffffu;
        saw_absent_ |= __any_sync(~0u, used && !in_pool) != 0;
        note_absent(stage, present == 0);
        tokens_ = static_cast<int>(lane_index()) == stage ? present : tokens_;
        if (present == 0) {
            return;
        }
#pragma unroll 4
        for (int copy = 0; copy < kCopies; ++copy) {
            const unsigned row = row_ + copy * kRowsPerCopy;
            const BlockId block = __shfl_sync(~0u, id, static_cast<int>(row));
            const bool is_present = (present >> row & 1) != 0;
            const char* from =
                keys_ +
                std::uint64_t{block_bytes_} * static_cast<unsigned>(is_present ? block : 0) +
                std::uint64_t{token_bytes_} *
                    ((static_cast<unsigned>(first_of_tile) + row) & block_mask_);
            copy_row<false>(from, is_present, keys(stage), 0, copy);
            copy_row<false>(from + keys_to_values_, is_present, keys(stage), 1, copy);
        }
    }

    template <bool kAll>
    __device__ void copy_rows(const char* keys, int num_rows, std::uint32_t stage) const {
#pragma unroll
        for (int matrix = 0; matrix < 2; ++matrix) {  // K, then V
            const char* from = keys + (matrix == 0 ? 0 : keys_to_values_);
#pragma unroll
            for (int copy = 0; copy < kCopies; ++copy) {
                const bool present =
                    kAll || static_cast<int>(row_) + copy * kRowsPerCopy < num_rows;
                copy_row<kAll>(from, present, stage, matrix, copy);
                from += copy_bytes_;
            }
        }
    }

    // This lane's chunks of one row; `from` is the first of them.
    template <bool kAll>
    __device__ void copy_row(const char* from, bool present, std::uint32_t stage, int matrix,
                             int copy) const {
        const unsigned row = copy * kRowsPerCopy;  // from row_ on
        const std::uint32_t to =
            stage + (target_ ^ (chunk_rotation<Config::kRowBytes>(row) << 4)) +
            static_cast<unsigned>(row * Config::kRowBytes + matrix * Config::kTileBytes);
#pragma unroll
        for (int along = 0; along < kCopiesAlongRow; ++along) {
            const int further = along * Config::kLanesPerRow * 16;  // bytes along the row
            if constexpr (Config::kEvictFirst && kAll) {
                ptx::copy_async_16(to + further, from + further, policy_);
            } else if constexpr (Config::kEvictFirst) {
                ptx::copy_async_16(to + further, from + further, present, policy_);
            } else if constexpr (kAll) {
                ptx::copy_async_16(to + further, from + further);
            } else {
                ptx::copy_async_16(to + further, from + further, present);
            }
        }
    }

    unsigned num_blocks_;
    std::uint32_t block_bytes_, token_bytes_, copy_bytes_;
    unsigned block_mask_;  // block_size - 1
    int first_token_;      // that is visible
    std::uint32_t shared_;
    std::uint32_t row_;     // of a tile: the first that this lane copies
    std::uint32_t target_;  // of this lane's first copy in a tile, bytes
    const char* keys_;  // this lane's first copy of block 0; in the general case, of row 0 there
    std::int64_t keys_to_values_;
    std::uint64_t policy_ = ptx::evict_first();
    unsigned absent_ = 0;  // bit `stage`
    unsigned tokens_ = 0;  // in the general case: lane `stage` has those in the pool, a bit each
    bool saw_absent_ = false;
};

}  // namespace nanoserve
