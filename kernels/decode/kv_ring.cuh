// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>

#include <kernels/decode/place.cuh>
#include <kernels/decode/ptx.cuh>
#include <kernels/decode/warp_attention.cuh>

namespace nanoserve {

/// The block table of one sequence, as far as one warp walks it: 32 entries are in the lanes, the
/// next 32 on their way.
class BlockIds {
  public:
    __device__ BlockIds(const DecodeArgs& args, std::int64_t seq, const TileWalk& walk)
        : table_(args.block_tables + seq * args.max_blocks_per_seq),
          num_entries_(args.max_blocks_per_seq),
          block_tiles_log2_(args.block_tiles_log2),
          next_tile_(walk.tile(static_cast<int>(lane_index()))),
          tiles_per_turn_(kWarpSize << walk.stride_log2) {
        ptx::keep(table_);
        ptx::keep(next_tile_);
        current_ = look_up();
        next_ = look_up();
    }

    /// The block of tile i; for i = 0, 1, 2, ... in turn.
    __device__ BlockId operator[](int i) {
        const int lane = i & (kWarpSize - 1);
        if (lane == 0 && i > 0) {
            current_ = next_;
            next_ = look_up();
        }
        return __shfl_sync(~0u, current_, lane);
    }

  private:
    // The entry of this lane's next tile; those behind the table's end are not read.
    __device__ BlockId look_up() {
        const int block = next_tile_ >> block_tiles_log2_;
        next_tile_ += tiles_per_turn_;
        return block < num_entries_ ? __ldg(table_ + block) : -1;
    }

    const BlockId* table_;
    int num_entries_, block_tiles_log2_, next_tile_, tiles_per_turn_;
    BlockId current_, next_;
};

/// One warp's ring of tiles on their way from the pool: kStages tiles of K and V are asked for
/// before the first is used. No thread waits for another warp.
template <class Config>
class KVRing {
    static constexpr int kRowsPerCopy =
        kWarpSize / Config::kChunks;  // rows that a warp copies at once
    static constexpr int kCopies = Config::kTileTokens / kRowsPerCopy;
    static constexpr std::uint32_t kStageBytes = 2 * Config::kTileBytes;

  public:
    __device__ KVRing(const DecodeArgs& args, int kv_head, std::uint32_t shared)
        : num_blocks_(static_cast<unsigned>(args.num_blocks)),
          block_bytes_(args.block_bytes),
          tile_bytes_(16 * args.token_bytes),
          copy_bytes_(kRowsPerCopy * args.token_bytes),
          block_tile_mask_((1u << args.block_tiles_log2) - 1),
          shared_(shared),
          row_(lane_index() / Config::kChunks) {
        const unsigned chunk = lane_index() % Config::kChunks;
        keys_ = args.k_cache + std::uint64_t{args.head_bytes} * static_cast<unsigned>(kv_head) +
                std::uint64_t{args.token_bytes} * row_ + chunk * 16;
        keys_to_values_ = args.v_cache - args.k_cache;
        target_ = WarpAttention<Config>::chunk_offset(row_, chunk);
        ptx::keep(keys_);
        ptx::keep(target_);
        ptx::keep(row_);
        ptx::keep(shared_);
        ptx::keep(copy_bytes_);
    }

    /// Asks for a tile's rows, the first num_tokens of them, into `stage`; rows behind them become
    /// zeros. A block that is not in the pool has no rows.
    __device__ void ask(BlockId id, int tile, int num_tokens, int stage) {
        const bool absent = static_cast<unsigned>(id) >= num_blocks_;
        absent_ = (absent_ & ~(1u << stage)) | (absent ? 1u << stage : 0u);
        saw_absent_ |= absent;
        if (absent) {
            return;
        }
        const char* keys =
            keys_ + std::uint64_t{block_bytes_} * static_cast<unsigned>(id) +
            std::uint64_t{tile_bytes_} * (static_cast<unsigned>(tile) & block_tile_mask_);
        if (num_tokens >= Config::kTileTokens) {
            copy_rows<true>(keys, num_tokens, this->keys(stage));
        } else {
            copy_rows<false>(keys, num_tokens, this->keys(stage));
        }
    }

    [[nodiscard]] __device__ bool is_absent(int stage) const { return (absent_ >> stage & 1) != 0; }
    [[nodiscard]] __device__ bool saw_absent() const { return saw_absent_; }

    /// The K rows in `stage`; the V rows lie behind them.
    [[nodiscard]] __device__ std::uint32_t keys(int stage) const {
        return shared_ + static_cast<unsigned>(stage) * kStageBytes;
    }

  private:
    template <bool kAll>
    __device__ void copy_rows(const char* keys, int num_rows, std::uint32_t stage) const {
#pragma unroll
        for (int matrix = 0; matrix < 2; ++matrix) {  // K, then V
            const char* from = keys + (matrix == 0 ? 0 : keys_to_values_);
#pragma unroll
            for (int copy = 0; copy < kCopies; ++copy) {
                // Rows further down have their chunks rotated by as much more.
                const std::uint32_t to =
                    stage + (target_ ^ (copy * kRowsPerCopy % 8 << 4)) +
                    static_cast<unsigned>(copy * kRowsPerCopy * Config::kRowBytes +
                                          matrix * Config::kTileBytes);
                const bool present =
                    kAll || static_cast<int>(row_) + copy * kRowsPerCopy < num_rows;
                if constexpr (Config::kEvictFirst) {
                    ptx::copy_async_16(to, from, present, policy_);
                } else if constexpr (kAll) {
                    ptx::copy_async_16(to, from);
                } else {
                    ptx::copy_async_16(to, from, present);
                }
                from += copy_bytes_;
            }
        }
    }

    unsigned num_blocks_;
    std::uint32_t block_bytes_, tile_bytes_, copy_bytes_;
    unsigned block_tile_mask_;
    std::uint32_t shared_;
    std::uint32_t row_;     // of a tile: the first that this lane copies
    std::uint32_t target_;  // of this lane's first copy in a tile, bytes
    const char* keys_;      // this lane's first copy of block 0
    std::int64_t keys_to_values_;
    std::uint64_t policy_ = ptx::evict_first();
    unsigned absent_ = 0;  // bit `stage`
    bool saw_absent_ = false;
};

}  // namespace nanoserve
