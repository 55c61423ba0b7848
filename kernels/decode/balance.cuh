// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kernels/decode/config.hpp>
#include <kernels/decode/schedule.hpp>

#include <kernels/decode/fragments.cuh>
#include <kernels/decode/place.cuh>

// The schedule of a batch on the device (schedule.hpp has the rule). Every warp works it out for
// itself, with all its lanes, from the lengths: no thread block waits for another.

namespace nanoserve {

__device__ inline int sum_of_lanes(int x) {
    return static_cast<int>(__reduce_add_sync(~0u, static_cast<unsigned>(x)));
}

__device__ inline int seq_tiles(const DecodeArgs& args, int seq) {
    return tiles_of(clamp_length(args, ptx::load(args.seq_lens + seq)));
}

/// The sum of count(tiles) over the sequences before `end`.
template <class Count>
__device__ int sum_over_seqs(const DecodeArgs& args, int end, Count count) {
    int sum = 0;
#pragma unroll 4
    for (int seq = static_cast<int>(lane_index()); seq < end; seq += kWarpSize) {
        sum += count(seq_tiles(args, seq));
    }
    return sum_of_lanes(sum);
}

__device__ inline int own_limit_of(const DecodeArgs& args) {
    const int all = sum_over_seqs(args, args.num_seqs, [](int tiles) { return tiles; });
    return own_limit(all, args.num_seqs, args.num_kv_heads >> args.heads_log2, args.num_resident);
}

__device__ inline Schedule schedule_of(const DecodeArgs& args, int limit) {
    const int tails = args.num_kv_heads * sum_over_seqs(args, args.num_seqs, [&](int tiles) {
                          return tail_tiles(tiles, limit);
                      });
    const int full =
        sum_over_seqs(args, args.num_seqs, [&](int tiles) { return tiles >= limit ? 1 : 0; });
    const int blocks_per_seq = args.num_kv_heads >> args.heads_log2;
    const int ranges =
        num_ranges(full * blocks_per_seq, args.num_seqs * blocks_per_seq, args.num_resident);
    return {.own_limit = limit, .tail_tiles = tails, .helper_tiles = helper_tiles(tails, ranges)};
}

__device__ inline RowTail tail_of(const DecodeArgs& args, const Schedule& schedule, int seq,
                                  int kv_head) {
    const auto tail = [&](int tiles) { return tail_tiles(tiles, schedule.own_limit); };
    const int before = sum_over_seqs(args, seq, tail);
    const int rows_before = sum_over_seqs(args, seq, [&](int tiles) { return tail(tiles) > 0; });
    const int num_tiles = tail(seq_tiles(args, seq));
    return {.begin = args.num_kv_heads * before + kv_head * num_tiles,
            .rank = args.num_kv_heads * rows_before + kv_head,
            .num_tiles = num_tiles};
}

/// A row that has a tail.
struct TailRow {
    int seq = 0;
    int kv_head = 0;
    RowTail tail;
};

/// Finds the rows of tiles that follow one another, 32 sequences at a time.
class TailSearch {
  public:
    __device__ TailSearch(const DecodeArgs& args, const Schedule& schedule)
        : args_(args), schedule_(schedule) {}

    /// The row of tile `at` of all tails: below schedule.tail_tiles, and no smaller than before.
    __device__ TailRow find(int at) {
        while (true) {
            const int lane = static_cast<int>(lane_index());
            const int seq = first_seq_ + lane;
            const int tiles =
                seq < args_.num_seqs ? tail_tiles(seq_tiles(args_, seq), schedule_.own_limit) : 0;
            int up_to_here = tiles;  // tails of this lane's sequence and of those before it
#pragma unroll
            for (int distance = 1; distance < kWarpSize; distance *= 2) {
                const int other = __shfl_up_sync(~0u, up_to_here, distance);
                up_to_here += lane >= distance ? other : 0;
            }
            const int end = args_.num_kv_heads * (tiles_before_ + up_to_here);
            const unsigned with_tail = __ballot_sync(~0u, tiles > 0);
            const unsigned behind = __ballot_sync(~0u, end > at);
            if (behind != 0) {
                const int owner = __ffs(static_cast<int>(behind)) - 1;
                const int num_tiles = __shfl_sync(~0u, tiles, owner);
                const int begin = __shfl_sync(~0u, end, owner) - args_.num_kv_heads * num_tiles;
                const int kv_head = (at - begin) / num_tiles;
                const int rows = rows_before_ + __popc(with_tail & ((1u << owner) - 1));
                return {.seq = first_seq_ + owner,
                        .kv_head = kv_head,
                        .tail = {.begin = begin + kv_head * num_tiles,
                                 .rank = args_.num_kv_heads * rows + kv_head,
                                 .num_tiles = num_tiles}};
            }
            tiles_before_ += __shfl_sync(~0u, up_to_here, kWarpSize - 1);
            rows_before_ += __popc(with_tail);
            first_seq_ += kWarpSize;
        }
    }

  private:
    const DecodeArgs& args_;
    const Schedule& schedule_;
    int first_seq_ = 0;  // of the 32 that are looked at
    int tiles_before_ = 0, rows_before_ = 0;
};

/// Where the partial results of one row stand in the workspace.
struct RowParts {
    QueryGroup group;
    std::int64_t row;          ///< slot of what its own thread block has read
    std::int64_t first_piece;  ///< slot of the first piece of its tail, the others behind it
    int count;                 ///< of all

    __device__ RowParts(const DecodeArgs& args, const Schedule& schedule, QueryGroup whose,
                        const RowTail& tail)
        : group(whose),
          row(std::int64_t{group.seq} * args.num_kv_heads + group.kv_head),
          first_piece(std::int64_t{args.num_seqs} * args.num_kv_heads +
                      piece_slot(tail, first_helper(schedule, tail))),
          count(1 + num_pieces(schedule, tail)) {}
};

/// Slot `slot` of the workspace: a WarpPartial.
template <class Config>
__device__ char* workspace_slot(const DecodeArgs& args, std::int64_t slot) {
    return args.workspace.partials + slot * WarpPartial<Config>::kBytes;
}

/// The sink of merge_warps that stores in the workspace.
template <class Config>
__device__ auto workspace_of(const DecodeArgs& args, std::int64_t slot) {
    return [=, &args](const FragmentEntry& at, const Partial& all) {
        char* to = workspace_slot<Config>(args, slot);
        *reinterpret_cast<float4*>(to + WarpPartial<Config>::entry(at)) = all.out;
        if (at.fragment % Config::kSteps == 0 && at.row() == 0) {
            *reinterpret_cast<float4*>(to + WarpPartial<Config>::scale(at)) = all.scale();
        }
    };
}

/// Whether this is the last of the row's partial results; one thread calls it, behind a barrier of
/// the thread block that stored it. The last one leaves the counter at 0.
__device__ inline bool is_last_part(const DecodeArgs& args, const RowParts& parts) {
    __threadfence();  // what the thread block has stored is visible before the arrival is
    const auto last = static_cast<unsigned>(parts.count - 1);
    return atomicInc(args.workspace.arrivals + parts.row, last) == last;
}

struct LoadGlobal {  // what other thread blocks have stored is not in the first-level cache
    __device__ float4 operator()(const char* from) const {
        return __ldcg(reinterpret_cast<const float4*>(from));
    }
};

/// Merges the partial results of a row, always in the same order, and writes its output. For all
/// threads of a thread block.
template <class Config>
__device__ void merge_row(const DecodeArgs& args, const RowParts& parts) {
    __threadfence();  // nothing of the other parts is read before they have arrived
    constexpr int kSlotBytes = WarpPartial<Config>::kBytes;
    const LiveEntries entries = {args.pairs_log2};
    for (unsigned i = threadIdx.x; i < entries.count(Config::kFragments); i += blockDim.x) {
        const FragmentEntry at = entries[i];
        const unsigned out = WarpPartial<Config>::entry(at);
        const unsigned scale = WarpPartial<Config>::scale(at);
        const char* own = workspace_slot<Config>(args, parts.row);
        const char* piece = workspace_slot<Config>(args, parts.first_piece);
        Partial all = merge_parts<1>(own + out, own + scale, 0, LoadGlobal{});
        int left = parts.count - 1;
        for (; left >= 8; left -= 8) {
            add_partial(all, merge_parts<8>(piece + out, piece + scale, kSlotBytes, LoadGlobal{}));
            piece += 8 * kSlotBytes;
        }
        for (; left > 0; --left) {
            add_partial(all, merge_parts<1>(piece + out, piece + scale, 0, LoadGlobal{}));
            piece += kSlotBytes;
        }
        write_entry<Config>(args, parts.group, at, all);
    }
}

/// Merges a row if this thread block's part of it, stored before, is the last to arrive. For all
/// threads of a thread block; nobody reads its shared memory any more.
template <class Config>
__device__ void merge_if_last(const DecodeArgs& args, const RowParts& parts) {
    __syncthreads();  // the part is stored
    if (__syncthreads_or(threadIdx.x == 0 && is_last_part(args, parts)) != 0) {
        merge_row<Config>(args, parts);
    }
}

}  // namespace nanoserve
