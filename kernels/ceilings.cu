// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// load_only: load all K and V rows of a batch through its block tables, and nothing else.
// Data     K and V pools with the strides of their KVLayout, rows of 64 to 512 bytes
//          block_tables [num_seqs, max_blocks_per_seq] int32, seq_lens [num_seqs] int32
//          checksum [1] uint32
// Work     grid (num_splits, num_seqs): a thread block owns one stretch of one history, all KV
// heads
//          of it. A warp loads one KV head of a tile of tokens, neighbouring warps the neighbouring
//          heads of the same tile: with NHD they share DRAM pages and, for short rows, cache lines.
// Traffic  the KV bytes once. A thread has 8 loads of 16 bytes in flight (4 of K, 4 of V), an SM
// has
//          4 thread blocks of 256 threads: 128 KB in flight. Little's law asks for 4.4 TB/s * 1 us
//          / 132 SMs = 33 KB at least; an H200 is fastest from 128 KB on.
// Steps    stretch_of -> sum_tile, tile by tile -> add_to_checksum.
// Edges    an empty history and an absent block load nothing.  Tests:
// tests/kernels/ceilings_test.cpp read_stream: the same loads over one contiguous buffer, to see
// what the tables cost.
#include <nanoserve/model/require.hpp>

#include <kernels/ceilings.hpp>
#include <kernels/cuda_error.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace nanoserve {
namespace {

constexpr int kWarpSize = 32;
constexpr int kWordBytes = sizeof(uint4);  // a word is what one lane loads at once
constexpr int kBlocksPerSm = 4;            // resident; 64 registers for each thread

struct CeilingConfig {
    static constexpr int num_threads = 256;
    static constexpr int num_warps = num_threads / kWarpSize;
    static constexpr int loads_in_flight = 8;  // of one thread
    // Rounds of thread blocks: later ones even out what earlier ones finished at different times.
    static constexpr int num_rounds = 4;
    static_assert(num_threads * kBlocksPerSm * loads_in_flight * kWordBytes >= 128 * 1024,
                  "128 KB in flight on each SM");
};

// A tile is what one warp loads at once: tile_tokens rows of K and as many of V.
template <int kWordsPerRow>
struct LoadOnlyConfig : CeilingConfig {
    static_assert(kWarpSize % kWordsPerRow == 0, "a warp loads whole rows");
    static constexpr int num_steps = loads_in_flight / 2;             // half K, half V
    static constexpr int tokens_per_step = kWarpSize / kWordsPerRow;  // rows in one warp load
    static constexpr int tile_tokens = num_steps * tokens_per_step;
};

// The pools as words of 16 bytes.
struct WordView {
    const uint4* k;             // [num_blocks, block_size, num_kv_heads, words_per_row], any order
    const uint4* v;             // the same strides
    std::int64_t block_stride;  // words
    std::int64_t token_stride;  // words
    std::int64_t head_stride;   // words
    int num_blocks;
    int block_size;   // tokens
    int block_shift;  // its logarithm if it is a power of two, else -1
    int num_kv_heads;

    // Logical block of a token. A division takes longer than all else that a lane does for a row.
    __device__ int block_of(int token) const {
        return block_shift >= 0 ? token >> block_shift : token / block_size;
    }
};

struct BatchView {
    const BlockId* block_tables;   // [num_seqs, max_blocks_per_seq]
    const std::int32_t* seq_lens;  // [num_seqs]
    std::int64_t max_blocks_per_seq;
};

struct Stretch {
    int begin;  // tokens [begin, end)
    int end;
};

// The tokens of split blockIdx.x: whole tiles, as equal as they can be.
__device__ Stretch stretch_of(const BatchView& batch, int block_size, int tile_tokens) {
    const std::int64_t room = batch.max_blocks_per_seq * block_size;
    const auto seq_len =
        static_cast<int>(min(static_cast<std::int64_t>(batch.seq_lens[blockIdx.y]), room));
    const int num_splits = static_cast<int>(gridDim.x);
    const int num_tiles = (max(seq_len, 0) + tile_tokens - 1) / tile_tokens;
    const int tiles_per_split = (num_tiles + num_splits - 1) / num_splits;
    const std::int64_t begin = std::int64_t{blockIdx.x} * tiles_per_split * tile_tokens;
    const std::int64_t end = begin + std::int64_t{tiles_per_split} * tile_tokens;
    return {static_cast<int>(min(begin, std::int64_t{seq_len})),
            static_cast<int>(min(end, std::int64_t{seq_len}))};
}

__device__ std::uint32_t sum_of(uint4 word) {
    return word.x + word.y + word.z + word.w;
}

// Words from the start of a pool to this lane's word of a token's row; kAbsent when there is none.
constexpr std::int64_t kAbsent = -1;

template <int kWordsPerRow>
__device__ std::int64_t word_offset(const WordView& pools, const BlockId* block_table, int head,
                                    int token, int end) {
    const int block = pools.block_of(token);
    const int block_id = token < end ? block_table[block] : -1;
    if (static_cast<unsigned>(block_id) >= static_cast<unsigned>(pools.num_blocks)) {
        return kAbsent;
    }
    return std::int64_t{block_id} * pools.block_stride +
           (token - block * pools.block_size) * pools.token_stride + head * pools.head_stride +
           threadIdx.x % kWordsPerRow;
}

// This lane's part of the sum over the K and V rows of one KV head, tokens [begin, end) of a tile.
// All loads are asked for before the first is used.
template <int kWordsPerRow>
__device__ std::uint32_t sum_tile(const WordView& pools, const BlockId* block_table, int head,
                                  int begin, int end) {
    using Config = LoadOnlyConfig<kWordsPerRow>;
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    std::int64_t offsets[Config::num_steps];
#pragma unroll
    for (int step = 0; step < Config::num_steps; ++step) {
        const int token = begin + step * Config::tokens_per_step + lane / kWordsPerRow;
        offsets[step] = word_offset<kWordsPerRow>(pools, block_table, head, token, end);
    }
    uint4 k_words[Config::num_steps];  // one word of one row of each step
    uint4 v_words[Config::num_steps];
#pragma unroll
    for (int step = 0; step < Config::num_steps; ++step) {
        const bool absent = offsets[step] == kAbsent;
        k_words[step] = absent ? make_uint4(0, 0, 0, 0) : __ldg(pools.k + offsets[step]);
        v_words[step] = absent ? make_uint4(0, 0, 0, 0) : __ldg(pools.v + offsets[step]);
    }
    std::uint32_t sum = 0;
#pragma unroll
    for (int step = 0; step < Config::num_steps; ++step) {
        sum += sum_of(k_words[step]) + sum_of(v_words[step]);
    }
    return sum;
}

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
        for (const std::uint32_t each : s_sums) {
            block_sum += each;
        }
        atomicAdd(checksum, block_sum);
    }
}

// blockIdx = (split, sequence); warps take the tiles of the stretch in turn, heads fastest.
template <int kWordsPerRow>
__global__ void __launch_bounds__(CeilingConfig::num_threads, kBlocksPerSm)
    load_only(WordView pools, BatchView batch, std::uint32_t* checksum) {
    using Config = LoadOnlyConfig<kWordsPerRow>;
    const BlockId* block_table = batch.block_tables + blockIdx.y * batch.max_blocks_per_seq;
    const Stretch stretch = stretch_of(batch, pools.block_size, Config::tile_tokens);
    if (stretch.begin == stretch.end) {
        return;  // the same for the whole thread block
    }
    const int num_tiles =
        (stretch.end - stretch.begin + Config::tile_tokens - 1) / Config::tile_tokens;
    const int num_items = num_tiles * pools.num_kv_heads;
    std::uint32_t sum = 0;
    for (int item = static_cast<int>(threadIdx.x) / kWarpSize; item < num_items;
         item += Config::num_warps) {
        const int begin = stretch.begin + item / pools.num_kv_heads * Config::tile_tokens;
        sum += sum_tile<kWordsPerRow>(pools, block_table, item % pools.num_kv_heads, begin,
                                      stretch.end);
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

// Thread blocks that keep all SMs of the current device busy for num_rounds rounds.
std::int64_t wanted_thread_blocks() {
    int device = 0, num_sms = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device));
    return std::int64_t{num_sms} * kBlocksPerSm * CeilingConfig::num_rounds;
}

int shift_of(std::int32_t block_size) {
    const auto size = static_cast<std::uint32_t>(block_size);
    return std::has_single_bit(size) ? std::countr_zero(size) : -1;
}

bool is_word_aligned(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kWordBytes == 0;
}

void require_words(const PagedAttentionParams& p) {
    const KVLayout& layout = p.kv.layout;
    const std::int64_t element_bytes = bytes_of(layout.dtype);
    require(is_word_aligned(p.kv.k_cache) && is_word_aligned(p.kv.v_cache),
            "k_cache and v_cache must be multiples of ", kWordBytes, " bytes");
    for (const auto& [name, stride] : {std::pair{"block_stride", layout.block_stride},
                                       std::pair{"token_stride", layout.token_stride},
                                       std::pair{"head_stride", layout.head_stride}}) {
        require(stride * element_bytes % kWordBytes == 0, name, " is ", stride * element_bytes,
                " bytes; it must be a multiple of ", kWordBytes);
    }
}

template <int kWordsPerRow>
void launch_load_only(const PagedAttentionParams& p, std::uint32_t* checksum, cudaStream_t stream) {
    using Config = LoadOnlyConfig<kWordsPerRow>;
    const KVLayout& layout = p.kv.layout;
    const std::int64_t elements_per_word = kWordBytes / bytes_of(layout.dtype);
    const WordView pools = {.k = static_cast<const uint4*>(p.kv.k_cache),
                            .v = static_cast<const uint4*>(p.kv.v_cache),
                            .block_stride = layout.block_stride / elements_per_word,
                            .token_stride = layout.token_stride / elements_per_word,
                            .head_stride = layout.head_stride / elements_per_word,
                            .num_blocks = layout.num_blocks,
                            .block_size = layout.block_size,
                            .block_shift = shift_of(layout.block_size),
                            .num_kv_heads = layout.num_kv_heads};
    const BatchView batch = {p.block_tables, p.seq_lens, p.max_blocks_per_seq};

    // As many splits as fill the GPU, but no thread block without a tile for each of its warps.
    const std::int64_t tiles =
        divide_up(p.max_blocks_per_seq * layout.block_size, Config::tile_tokens);
    const std::int64_t useful = divide_up(tiles * layout.num_kv_heads, Config::num_warps);
    const std::int64_t filling = divide_up(wanted_thread_blocks(), p.num_seqs);
    const std::int64_t num_splits =
        std::clamp<std::int64_t>(filling, 1, std::max<std::int64_t>(useful, 1));
    const dim3 grid(static_cast<unsigned>(num_splits), static_cast<unsigned>(p.num_seqs));
    load_only<kWordsPerRow><<<grid, Config::num_threads, 0, stream>>>(pools, batch, checksum);
    NANOSERVE_CUDA_TRY(cudaGetLastError());
}

void load_only_of(const PagedAttentionParams& p, std::uint32_t* checksum, cudaStream_t stream) {
    constexpr std::int64_t kMaxGridY = 65535;
    require(p.num_seqs >= 0 && p.num_seqs <= kMaxGridY, "num_seqs is ", p.num_seqs,
            "; load_only takes 0 to ", kMaxGridY);
    require(p.max_blocks_per_seq >= 0 &&
                p.max_blocks_per_seq * p.kv.layout.block_size <= (std::int64_t{1} << 30),
            "max_blocks_per_seq is ", p.max_blocks_per_seq, "; load_only takes 2^30 tokens");
    require_words(p);
    if (p.num_seqs == 0) {
        return;
    }
    const std::int64_t row_bytes = p.kv.layout.head_dim * bytes_of(p.kv.layout.dtype);
    switch (row_bytes) {
        case 64:
            return launch_load_only<4>(p, checksum, stream);
        case 128:
            return launch_load_only<8>(p, checksum, stream);
        case 256:
            return launch_load_only<16>(p, checksum, stream);
        case 512:
            return launch_load_only<32>(p, checksum, stream);
        default:
            require(false, "a row is ", row_bytes, " bytes; load_only takes 64, 128, 256 and 512");
    }
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

void read_stream(const void* data, std::int64_t num_bytes, std::uint32_t* checksum,
                 cudaStream_t stream) {
    require(is_word_aligned(data), "data must be a multiple of ", kWordBytes, " bytes");
    require(num_bytes >= 0 && num_bytes % kWordBytes == 0, "num_bytes is ", num_bytes,
            "; it must be a multiple of ", kWordBytes);
    if (num_bytes == 0) {
        return;
    }
    const std::int64_t num_words = num_bytes / kWordBytes;
    const std::int64_t num_pieces =
        divide_up(num_words, CeilingConfig::num_threads * CeilingConfig::loads_in_flight);
    const auto num_thread_blocks =
        static_cast<unsigned>(std::min(num_pieces, wanted_thread_blocks()));
    nanoserve::stream<<<num_thread_blocks, CeilingConfig::num_threads, 0, stream>>>(
        static_cast<const uint4*>(data), num_words, checksum);
    NANOSERVE_CUDA_TRY(cudaGetLastError());
}

}  // namespace nanoserve
