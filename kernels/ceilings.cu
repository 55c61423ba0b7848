// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// load_only: load all K and V rows of a batch through its block tables, and nothing else.
// Data     K and V pools with the strides of their KVLayout, rows of 16 to 2048 bytes
//          block_tables [num_seqs, max_blocks_per_seq] int32, seq_lens [num_seqs] int32
//          checksum [1] uint32
// Work     grid (num_splits, num_seqs): the warps of a sequence take its items in turn. An item is
//          a tile of tokens of one KV head; neighbouring warps have neighbouring heads of the same
//          tile: with NHD they share DRAM pages and, for short rows, cache lines. Which items a
//          warp has does not depend on the length, so that it asks for length and table at once.
// Traffic  the KV bytes once. A thread has 8 loads of 16 bytes in flight (4 of K, 4 of V), an SM
//          has 4 thread blocks of 256 threads: 128 KB in flight. Little's law asks for 4.4 TB/s *
//          1 us / 132 SMs = 33 KB at least; an H200 is fastest from 128 KB on.
// Steps    item by item: ask for its words -> look up the blocks of the next -> sum; then
//          add_to_checksum.
// Edges    an empty history and an absent block load nothing. No division in the loop.
// Tests    tests/kernels/ceilings_test.cpp, tests/kernels/divider_test.cpp
// Others   load_only_by_head: the same loads by thread blocks of one KV head each, as the peers'
//          file has it. read_stream: over one contiguous buffer, to see what the tables cost.
#include <nanoserve/model/require.hpp>

#include <kernels/ceilings.hpp>
#include <kernels/cuda_error.hpp>
#include <kernels/general/divider.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <kernels/decode/ptx.cuh>
#include <kernels/launch.cuh>
#include <limits>

namespace nanoserve {
namespace {

constexpr int kWarpSize = 32;
constexpr int kWordBytes = sizeof(uint4);  // a word is what one lane loads at once
constexpr int kBlocksPerSm = 4;            // resident; 64 registers for each thread

struct CeilingConfig {
    static constexpr int num_threads = 256;  // at most
    static constexpr int num_warps = num_threads / kWarpSize;
    static constexpr int loads_in_flight = 8;  // of one thread
    // Rounds of thread blocks: later ones even out what earlier ones finished at different times.
    static constexpr int num_rounds = 4;
    static_assert(num_threads * kBlocksPerSm * loads_in_flight * kWordBytes >= 128 * 1024,
                  "128 KB in flight on each SM");
};

// A tile is what one warp loads at once: as many whole rows of K as its words hold, and as many of
// V.
constexpr int kNumSteps = CeilingConfig::loads_in_flight / 2;  // half K, half V
constexpr int kTileWords = kNumSteps * kWarpSize;              // of K

struct LoadOnlyArgs {
    const char* k_cache;
    const char* v_cache;
    const BlockId* block_tables;   // [num_seqs, max_blocks_per_seq]
    const std::int32_t* seq_lens;  // [num_seqs]
    std::int64_t max_blocks_per_seq;
    std::uint32_t block_bytes;  // from one KV block to the next
    std::uint32_t token_bytes;  // from one token of a block to the next
    std::uint32_t head_bytes;   // from one KV head to the next
    std::uint32_t num_blocks;
    std::uint32_t block_size;  // tokens
    std::uint32_t num_kv_heads;
    std::uint32_t max_seq_len;  // tokens that a table row has room for
    std::uint32_t words_per_row;
    std::uint32_t tile_tokens;  // kTileWords / words_per_row
    Divider by_block_size, by_heads, by_words, by_tile_tokens;
};

// Of load_by_head, whose rows and blocks are powers of two.
struct ByHead {
    int words_log2;       // of a row
    int block_size_log2;  // tokens
};

// The part of each tile that this lane loads: a word of one row in each step. Lanes behind the last
// whole row have a token that no sequence has.
struct LaneRows {
    std::uint32_t token[kNumSteps];  // of the tile
    std::uint32_t bytes[kNumSteps];  // in the row

    __device__ explicit LaneRows(const LoadOnlyArgs& args) {
        constexpr std::uint32_t kNoToken = 1u << 30;
#pragma unroll
        for (int step = 0; step < kNumSteps; ++step) {
            const std::uint32_t word = step * kWarpSize + threadIdx.x % kWarpSize;
            const std::uint32_t row = args.by_words.quotient(word);
            token[step] = row < args.tile_tokens ? row : kNoToken;
            bytes[step] = (word - row * args.words_per_row) * kWordBytes;
            ptx::keep(token[step]);
            ptx::keep(bytes[step]);
        }
    }
};

__device__ std::uint32_t sum_of(uint4 word) {
    return word.x + word.y + word.z + word.w;
}

// What a warp loads before it goes on: a tile of one KV head. This is what can be known of it
// before its blocks are.
struct Item {
    std::uint32_t token[kNumSteps];  // of the sequence
    std::uint32_t bytes[kNumSteps];  // from the start of the block to this lane's word
    BlockId ids[kNumSteps];          // on their way; nothing behind the table's end is read

    __device__ Item(const LoadOnlyArgs& args, const BlockId* block_table, std::uint32_t index,
                    const LaneRows& lane) {
        const std::uint32_t tile = args.by_heads.quotient(index);
        const std::uint32_t head = index - tile * args.num_kv_heads;
#pragma unroll
        for (int step = 0; step < kNumSteps; ++step) {
            token[step] = tile * args.tile_tokens + lane.token[step];
            const std::uint32_t block = args.by_block_size.quotient(token[step]);
            ids[step] = token[step] < args.max_seq_len ? __ldg(block_table + block) : -1;
            bytes[step] = (token[step] - block * args.block_size) * args.token_bytes +
                          head * args.head_bytes + lane.bytes[step];
            ptx::keep(bytes[step]);
        }
    }
};

// This lane's words of an item, on their way.
struct Words {
    uint4 k[kNumSteps];  // one word of one row of each step
    uint4 v[kNumSteps];

    __device__ Words(const LoadOnlyArgs& args, const Item& item, std::uint32_t seq_len) {
#pragma unroll
        for (int step = 0; step < kNumSteps; ++step) {
            const auto id = static_cast<std::uint32_t>(item.ids[step]);
            const bool absent = item.token[step] >= seq_len || id >= args.num_blocks;
            const std::uint64_t at = std::uint64_t{id} * args.block_bytes + item.bytes[step];
            k[step] = absent ? make_uint4(0, 0, 0, 0) : load(args.k_cache + at);
            v[step] = absent ? make_uint4(0, 0, 0, 0) : load(args.v_cache + at);
        }
    }

    [[nodiscard]] __device__ std::uint32_t sum() const {
        std::uint32_t sum = 0;
#pragma unroll
        for (int step = 0; step < kNumSteps; ++step) {
            sum += sum_of(k[step]) + sum_of(v[step]);
        }
        return sum;
    }

  private:
    static __device__ uint4 load(const char* from) {
        return __ldg(reinterpret_cast<const uint4*>(from));
    }
};

// One addition for each thread block: integers, so that the order doesn't matter.
__device__ void add_to_checksum(std::uint32_t sum, std::uint32_t* checksum) {
    if (checksum == nullptr) {
        asm volatile("" ::"r"(sum));  // looks used, so the loads stay
        return;
    }
    __shared__ std::uint32_t s_sums[CeilingConfig::num_warps];
    const std::uint32_t warp_sum = __reduce_add_sync(0xffffffffu, sum);
    if (threadIdx.x % kWarpSize == 0) {
        s_sums[threadIdx.x / kWarpSize] = warp_sum;
    }
    __syncthreads();  // all writes to s_sums visible
    if (threadIdx.x == 0) {
        std::uint32_t block_sum = 0;
        for (unsigned warp = 0; warp < blockDim.x / kWarpSize; ++warp) {
            block_sum += s_sums[warp];
        }
        atomicAdd(checksum, block_sum);
    }
}

// blockIdx = (split, sequence); all warps of a sequence take its items in turn.
__global__ void __launch_bounds__(CeilingConfig::num_threads, kBlocksPerSm)
    load_only(const __grid_constant__ LoadOnlyArgs args, std::uint32_t* checksum) {
    const std::uint32_t num_warps = gridDim.x * (blockDim.x / kWarpSize);
    std::uint32_t index = blockIdx.x * (blockDim.x / kWarpSize) + threadIdx.x / kWarpSize;
    const BlockId* block_table = args.block_tables + blockIdx.y * args.max_blocks_per_seq;
    ptx::keep(block_table);
    const int given_length = __ldg(args.seq_lens + blockIdx.y);
    const LaneRows lane(args);
    Item item(args, block_table, index, lane);

    const std::uint32_t seq_len =
        min(static_cast<std::uint32_t>(max(given_length, 0)), args.max_seq_len);
    const std::uint32_t num_items =
        args.by_tile_tokens.quotient(seq_len + args.tile_tokens - 1) * args.num_kv_heads;
    std::uint32_t sum = 0;
    while (index < num_items) {
        const Words words(args, item, seq_len);
        index += num_warps;
        item = Item(args, block_table, index, lane);  // while the words are on their way
        sum += words.sum();
    }
    add_to_checksum(sum, checksum);
}

// blockIdx = (split, KV head, sequence). A thread block has a stretch of the history, whose rows
// its threads load side by side, kNumSteps rows of K and of V each before they go on. Rows and
// blocks are powers of two.
__global__ void __launch_bounds__(CeilingConfig::num_threads)
    load_by_head(const __grid_constant__ LoadOnlyArgs args, ByHead by_head,
                 std::uint32_t* checksum) {
    const BlockId* block_table = args.block_tables + blockIdx.z * args.max_blocks_per_seq;
    const std::uint32_t seq_len = min(
        static_cast<std::uint32_t>(max(__ldg(args.seq_lens + blockIdx.z), 0)), args.max_seq_len);
    const std::uint32_t share = ((seq_len + gridDim.x - 1) / gridDim.x + 15) / 16 * 16;
    const std::uint32_t end = min((blockIdx.x + 1) * share, seq_len);
    const std::uint32_t rows = blockDim.x >> by_head.words_log2;  // of a step
    const std::uint32_t in_head =
        blockIdx.y * args.head_bytes + (threadIdx.x & (args.words_per_row - 1)) * kWordBytes;
    std::uint32_t sum = 0;
    for (std::uint32_t token = blockIdx.x * share + (threadIdx.x >> by_head.words_log2);
         token < end; token += rows * kNumSteps) {
        uint4 k[kNumSteps] = {}, v[kNumSteps] = {};
#pragma unroll
        for (std::uint32_t step = 0; step < kNumSteps; ++step) {
            const std::uint32_t t = token + step * rows;
            if (t >= end) {
                continue;
            }
            const auto id =
                static_cast<std::uint32_t>(__ldg(block_table + (t >> by_head.block_size_log2)));
            if (id < args.num_blocks) {
                const std::uint64_t at = std::uint64_t{id} * args.block_bytes +
                                         (t & (args.block_size - 1)) * args.token_bytes + in_head;
                k[step] = __ldg(reinterpret_cast<const uint4*>(args.k_cache + at));
                v[step] = __ldg(reinterpret_cast<const uint4*>(args.v_cache + at));
            }
        }
#pragma unroll
        for (int step = 0; step < kNumSteps; ++step) {
            sum += sum_of(k[step]) + sum_of(v[step]);
        }
    }
    add_to_checksum(sum, checksum);
}

// Thread blocks take pieces of num_threads * loads_in_flight words in turn.
__global__ void __launch_bounds__(CeilingConfig::num_threads, kBlocksPerSm)
    stream(const uint4* words, std::int64_t num_words, std::uint32_t* checksum) {
    using Config = CeilingConfig;
    constexpr std::int64_t kPiece = Config::num_threads * Config::loads_in_flight;
    std::uint32_t sum = 0;
    for (std::int64_t begin = blockIdx.x * kPiece; begin < num_words; begin += gridDim.x * kPiece) {
        uint4 loaded[Config::loads_in_flight];
#pragma unroll
        for (int i = 0; i < Config::loads_in_flight; ++i) {
            const std::int64_t at = begin + i * Config::num_threads + threadIdx.x;
            loaded[i] = at < num_words ? __ldg(words + at) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (const uint4 word : loaded) {
            sum += sum_of(word);
        }
    }
    add_to_checksum(sum, checksum);
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

int num_sms_of_current_device() {
    int device = 0, num_sms = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device));
    return num_sms;
}

// Thread blocks that keep so many SMs busy for num_rounds rounds.
std::int64_t wanted_thread_blocks(int num_sms) {
    return std::int64_t{num_sms} * kBlocksPerSm * CeilingConfig::num_rounds;
}

bool is_word_aligned(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kWordBytes == 0;
}

void require_words(const PagedAttentionParams& p) {
    const KVLayout& layout = p.kv.layout;
    const std::int64_t element_bytes = bytes_of(layout.dtype);
    require(is_word_aligned(p.kv.k_cache) && is_word_aligned(p.kv.v_cache),
            "k_cache and v_cache must be multiples of ", kWordBytes, " bytes");
    for (const auto& [name, elements] : {std::pair{"block_stride", layout.block_stride},
                                         std::pair{"token_stride", layout.token_stride},
                                         std::pair{"head_stride", layout.head_stride},
                                         std::pair{"a row", std::int64_t{layout.head_dim}}}) {
        require(elements * element_bytes % kWordBytes == 0, name, " is ", elements * element_bytes,
                " bytes; it must be a multiple of ", kWordBytes);
    }
    const std::int64_t row_bytes = layout.head_dim * element_bytes;
    require(row_bytes <= kTileWords * kWordBytes, "a row is ", row_bytes,
            " bytes; load_only takes ", kTileWords * kWordBytes);
    constexpr std::int64_t kMaxBlockBytes = std::numeric_limits<std::uint32_t>::max();
    require(layout.block_stride * element_bytes <= kMaxBlockBytes, "block_stride is ",
            layout.block_stride * element_bytes, " bytes; load_only takes ", kMaxBlockBytes);
}

LoadOnlyArgs make_args(const PagedAttentionParams& p) {
    const KVLayout& layout = p.kv.layout;
    const auto bytes = [&](std::int64_t elements) {
        return static_cast<std::uint32_t>(elements * bytes_of(layout.dtype));
    };
    const std::uint32_t words_per_row = bytes(layout.head_dim) / kWordBytes;
    const std::uint32_t tile_tokens = kTileWords / words_per_row;
    const auto block_size = static_cast<std::uint32_t>(layout.block_size);
    const auto num_kv_heads = static_cast<std::uint32_t>(layout.num_kv_heads);
    return {.k_cache = static_cast<const char*>(p.kv.k_cache),
            .v_cache = static_cast<const char*>(p.kv.v_cache),
            .block_tables = p.block_tables,
            .seq_lens = p.seq_lens,
            .max_blocks_per_seq = p.max_blocks_per_seq,
            .block_bytes = bytes(layout.block_stride),
            .token_bytes = bytes(layout.token_stride),
            .head_bytes = bytes(layout.head_stride),
            .num_blocks = static_cast<std::uint32_t>(layout.num_blocks),
            .block_size = block_size,
            .num_kv_heads = num_kv_heads,
            .max_seq_len = static_cast<std::uint32_t>(p.max_tokens()),
            .words_per_row = words_per_row,
            .tile_tokens = tile_tokens,
            .by_block_size = Divider(block_size),
            .by_heads = Divider(num_kv_heads),
            .by_words = Divider(words_per_row),
            .by_tile_tokens = Divider(tile_tokens)};
}

// Everything that load_only follows; q, out and lse are not among it, and checksum may be null.
void require_pointers(const PagedAttentionParams& p, const std::uint32_t* checksum) {
    require(p.kv.k_cache != nullptr && p.kv.v_cache != nullptr, "k_cache or v_cache is null");
    require(p.block_tables != nullptr && p.seq_lens != nullptr, "block_tables or seq_lens is null");
    require_aligned("block_tables", p.block_tables, sizeof *p.block_tables);
    require_aligned("seq_lens", p.seq_lens, sizeof *p.seq_lens);
    require_aligned("checksum", checksum, sizeof *checksum);
}

constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;
constexpr std::int64_t kMaxGridYZ = 65535;  // thread blocks of a grid's second and third dimension

void require_sizes(const PagedAttentionParams& p) {
    require(p.num_seqs >= 0 && p.num_seqs <= kMaxGridYZ, "num_seqs is ", p.num_seqs,
            "; load_only takes 0 to ", kMaxGridYZ);
    require(p.max_blocks_per_seq >= 0 && p.max_tokens() <= kMaxCount, "max_blocks_per_seq is ",
            p.max_blocks_per_seq, "; load_only takes 2^30 tokens");
    require_no_rules(p.rules, "load_only");
    require_words(p);
}

void load_only_of(const PagedAttentionParams& p, std::uint32_t* checksum, cudaStream_t stream) {
    require_sizes(p);
    const LoadOnlyArgs args = make_args(p);
    const std::int64_t num_items =
        divide_up(args.max_seq_len, args.tile_tokens) * args.num_kv_heads;
    require(num_items <= kMaxCount, "a sequence has room for ", num_items,
            " tiles; load_only takes ", kMaxCount);
    if (p.num_seqs == 0 || num_items == 0) {
        return;
    }
    require_pointers(p, checksum);
    // As many splits as fill the GPU, but no warp without an item; and where there are few items,
    // each on an SM of its own.
    const int num_sms = num_sms_of_current_device();
    std::int64_t num_warps = CeilingConfig::num_warps;
    while (num_warps > 1 && p.num_seqs * divide_up(num_items, num_warps) < num_sms) {
        num_warps /= 2;
    }
    std::int64_t filling = divide_up(wanted_thread_blocks(num_sms), p.num_seqs);
    if (p.num_seqs * p.max_blocks_per_seq > 2 * std::int64_t{p.kv.layout.num_blocks}) {
        filling = std::max<std::int64_t>(filling, 2 * num_sms);  // a long history among short ones
    }
    const std::int64_t num_splits = std::min(divide_up(num_items, num_warps), filling);
    const dim3 grid(static_cast<unsigned>(num_splits), static_cast<unsigned>(p.num_seqs));
    NANOSERVE_CUDA_TRY(launch_kernel(load_only, grid, static_cast<unsigned>(num_warps * kWarpSize),
                                     0, stream, args, checksum));
}

}  // namespace

void load_only_nhd(const PagedAttentionParams& params, std::uint32_t* checksum,
                   cudaStream_t stream) {
    validate(params.kv.layout);
    require(params.kv.layout.is_dense_nhd(), "load_only_nhd: the pool is not in NHD order");
    load_only_of(params, checksum, stream);
}

void load_only_hnd(const PagedAttentionParams& params, std::uint32_t* checksum,
                   cudaStream_t stream) {
    const KVLayout& layout = params.kv.layout;
    validate(layout);
    require(layout.token_stride == layout.head_dim &&
                layout.head_stride == std::int64_t{layout.block_size} * layout.head_dim,
            "load_only_hnd: the pool is not in HND order");
    load_only_of(params, checksum, stream);
}

void load_only_by_head(const PagedAttentionParams& params, std::uint32_t* checksum,
                       cudaStream_t stream) {
    validate(params.kv.layout);
    require_sizes(params);
    require(params.kv.layout.num_kv_heads <= kMaxGridYZ, "num_kv_heads is ",
            params.kv.layout.num_kv_heads, "; load_only_by_head takes ", kMaxGridYZ);
    const LoadOnlyArgs args = make_args(params);
    for (const auto& [name, size] :
         {std::pair{"block_size", args.block_size},
          std::pair{"the number of words of a row", args.words_per_row}}) {
        require(std::has_single_bit(size), name, " is ", size,
                "; load_only_by_head takes powers of two");
    }
    if (params.num_seqs == 0 || args.max_seq_len == 0) {
        return;
    }
    require_pointers(params, checksum);
    // 16 thread blocks for each SM, but none of less than 8 blocks of 16 tokens.
    const std::int64_t num_rows = params.num_seqs * args.num_kv_heads;
    const std::int64_t num_splits = std::clamp<std::int64_t>(
        num_sms_of_current_device() * 16 / num_rows, 1, divide_up(args.max_seq_len, 8 * 16));
    const dim3 grid(static_cast<unsigned>(num_splits), args.num_kv_heads,
                    static_cast<unsigned>(params.num_seqs));
    const ByHead by_head = {.words_log2 = std::countr_zero(args.words_per_row),
                            .block_size_log2 = std::countr_zero(args.block_size)};
    NANOSERVE_CUDA_TRY(launch_kernel(load_by_head, grid, CeilingConfig::num_threads, 0, stream,
                                     args, by_head, checksum));
}

void read_stream(const void* data, std::int64_t num_bytes, std::uint32_t* checksum,
                 cudaStream_t stream) {
    require(is_word_aligned(data), "data must be a multiple of ", kWordBytes, " bytes");
    require(num_bytes >= 0 && num_bytes % kWordBytes == 0, "num_bytes is ", num_bytes,
            "; it must be a multiple of ", kWordBytes);
    if (num_bytes == 0) {
        return;
    }
    require(data != nullptr, "data is null");
    require_aligned("checksum", checksum, sizeof *checksum);
    const std::int64_t num_words = num_bytes / kWordBytes;
    const std::int64_t num_pieces =
        divide_up(num_words, CeilingConfig::num_threads * CeilingConfig::loads_in_flight);
    const auto num_thread_blocks = static_cast<unsigned>(
        std::min(num_pieces, wanted_thread_blocks(num_sms_of_current_device())));
    NANOSERVE_CUDA_TRY(launch_kernel(nanoserve::stream, num_thread_blocks,
                                     CeilingConfig::num_threads, 0, stream,
                                     static_cast<const uint4*>(data), num_words, checksum));
}

}  // namespace nanoserve
