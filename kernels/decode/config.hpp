// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/cache/block_pool.hpp>
#include <nanoserve/cache/kv_scales.hpp>
#include <nanoserve/model/dtype.hpp>

#include <kernels/decode/memory.hpp>
#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

namespace nanoserve {

/// The compile-time sizes of the decode kernel.
/// @tparam Element of q and out: Bf16 or Fp16
/// @tparam kHeadDimension 64, 96, 128, 192 or 256
/// @tparam kTilesOfHeads 8 query heads of a group each
/// @tparam kReadOnce rows leave L2 first
/// @tparam kGeneralCase each row of a tile is looked at, since its blocks hold fewer than 16 tokens
/// or a window hides some, and a softmax may end with a sink
/// @tparam Stored of K and V: the same, or Fp8E4m3
template <class Element, int kHeadDimension, int kTilesOfHeads, bool kReadOnce, bool kGeneralCase,
          class Stored = Element>
struct DecodeConfig {
    using T = Element;
    static constexpr bool kIsFp8 = std::is_same_v<Stored, Fp8E4m3>;
    /// What products multiply. An e4m3 is an fp16 exactly.
    using Factor = std::conditional_t<kIsFp8, Fp16, Element>;
    static constexpr int kHeadDim = kHeadDimension;
    static constexpr int kHeadTiles = kTilesOfHeads;
    static constexpr bool kEvictFirst = kReadOnce;
    static constexpr bool kGeneral = kGeneralCase;
    static constexpr bool kCanBalance = kReadOnce || kGeneralCase;  ///< what needs it reads much

    static constexpr int kMaxThreads = 256;
    static constexpr int kTileTokens = 16;        ///< tokens of a tile: the M of the products
    static constexpr int kSteps = kHeadDim / 16;  ///< products along a row: their K is 16
    static constexpr int kRowBytes = kHeadDim * static_cast<int>(sizeof(Stored));
    static constexpr int kChunks = kRowBytes / 16;              ///< of a row, 16 bytes each
    static constexpr int kTileBytes = kTileTokens * kRowBytes;  ///< of K, and of V
    static constexpr int kStageBytes = stage_bytes(kRowBytes);  ///< of a tile's K and V

    /// Neighbouring lanes that copy chunks of the same row.
    static constexpr int kLanesPerRow = std::gcd(kChunks, 32);

    static constexpr int kBlocksPerSm = blocks_per_sm(kRowBytes, kHeadTiles);  ///< of 8 warps
    static constexpr int kStages = ring_stages(kRowBytes, kHeadTiles);         ///< of a warp

    /// Tiles that a warp takes in at once, where it has them. Conversions make the chain of an fp8
    /// tile long for its bytes: with two, the latency of one hides that of the other.
    static constexpr int kTilesTogether = kIsFp8 && kHeadTiles == 1 && kHeadDim <= 128 ? 2 : 1;

    /// Loads of matrices along a row, two chunks each, and the products that one serves.
    static constexpr int kLoads = kChunks / 2;
    static constexpr int kStepsPerLoad = kSteps / kLoads;
    /// Loads of V that a lane has made when the weights are worked out: all of them, or one where
    /// more would not fit in 255 registers beside q and out.
    static constexpr int kLoadsAhead = kSteps * kHeadTiles <= 16 ? kLoads : 1;

    /// Fragments of a group's output, 16 elements of 8 query heads each: fragment tile * kSteps +
    /// step.
    static constexpr int kFragments = kHeadTiles * kSteps;

    /// Floats from row to row of a partial result that is stored by rows; + 4: rows in different
    /// banks.
    static constexpr int kPartialPitch = kHeadDim + 4;

    static_assert(kHeadDim % 16 == 0 && kStages >= kTilesTogether && kStages % kTilesTogether == 0);
};

/// Partial results of a balanced launch, in device memory: first of what each row's own thread
/// block has read (row = seq * num_kv_heads + KV head), then of the pieces that helpers have read.
struct DecodeWorkspace {
    unsigned* arrivals;  ///< [num_rows], partial results that are there; 0 between launches
    char* partials;      ///< [2 * num_rows + num_resident], a WarpPartial each
};

/// What the decode kernel works on, with all that the host can work out beforehand. What every
/// launch needs comes first: the constant cache has lines of 64 bytes, and each is a miss.
struct DecodeArgs {
    const char* k_cache;
    const char* v_cache;
    const void* q;
    void* out;
    const BlockId* block_tables;  ///< [num_seqs, max_blocks_per_seq]
    const std::int32_t* seq_lens;
    std::int64_t q_stride;      ///< elements from one sequence's q to the next
    std::uint32_t block_bytes;  ///< from one KV block to the next
    std::uint32_t head_bytes;   ///< from one KV head to the next
    std::uint32_t token_bytes;  ///< from one token of a block to the next
    std::int32_t max_blocks_per_seq;
    std::int32_t max_seq_len;  ///< tokens that a table row has room for
    std::int32_t num_blocks;
    std::int32_t num_seqs;
    std::int32_t num_q_heads;
    std::int32_t group_size;
    float scale;  ///< sm_scale * log2 e
    std::uint8_t block_size_log2;
    std::uint8_t warps_log2, heads_log2, splits_log2;  ///< of the plan
    std::uint8_t pairs_log2;                           ///< see LiveEntries
    std::uint32_t* status;                             ///< takes bits of ReadStatus; may be nullptr
    KVScales scales;                                   ///< of pools of fp8
    DecodeMemory memory;
    float* lse;  ///< may be nullptr
    std::int32_t num_kv_heads;
    std::int32_t window;        ///< newest tokens that are visible; 0: all
    const float* sinks;         ///< [num_q_heads]; may be nullptr
    std::int32_t num_resident;  ///< of a balanced launch: thread blocks that the GPU holds at once
    DecodeWorkspace workspace;  ///< of a balanced launch
};

}  // namespace nanoserve
