// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 21 foretells before anything is measured: a few constants, and the arithmetic.
#pragma once

#include <nanoserve/cache/kv_layout.hpp>
#include <nanoserve/model/attention_shape.hpp>

#include <algorithm>
#include <cstdint>

namespace nanoserve::day21 {

/// An H200, as far as the prediction knows it. Each number is somebody's measurement, or a guess
/// that says so; the program prints how far the sum of them is off.
struct PredictedGpu {
    int num_sms = 132;

    /// One kernel node in a replayed graph, until its last thread block is gone. Measured for an
    /// empty kernel: 0.54 us with 8 thread blocks, 0.65 with 264, 0.80 with 512.
    double launch_us = 0.6;

    /// A load that misses L2 until its data can be used. Guess: the load-only read of one page
    /// takes 1.6 us, of which 0.6 is the launch and two short waits are for seq_len and table in
    /// L2.
    double dram_wait_us = 0.6;

    /// A load that hits L2. Guess: about 270 cycles at 1.75 GHz.
    double l2_wait_us = 0.15;

    /// Reading K and V rows through a table, all SMs loading and nothing else; bytes per us. The
    /// load-only kernel of an earlier study reached 4.40 TB/s with rows of 256 bytes and 4.29 with
    /// 128 (64 sequences, 4096 tokens).
    double dram_bytes_per_us_long_rows = 4.40e6;
    double dram_bytes_per_us_short_rows = 4.29e6;

    /// What L2 gives to all SMs together; bytes per us. Guess: between what DRAM gives (4.4 TB/s)
    /// and what the ports of 132 SMs take (64 bytes a cycle each, 14.8 TB/s), nearer to the former.
    double l2_bytes_per_us = 5.5e6;

    /// DRAM bandwidth for rows of so many bytes.
    [[nodiscard]] double dram_bytes_per_us(std::int64_t row_bytes) const {
        return row_bytes >= 256 ? dram_bytes_per_us_long_rows : dram_bytes_per_us_short_rows;
    }
};

/// How a kernel with one thread block for each query head goes through a history.
struct PredictedWalk {
    int tokens_per_step = 0;         ///< between two waits for memory
    double step_us = 0.0;            ///< one step, when nobody else is in the way
    int resident_thread_blocks = 0;  ///< on one SM; the rest waits for another round
};

/// Day 21's kernel: a step is one KV block of 16 tokens. It waits for K, then for V, which it asks
/// for only once the weights are known; five barriers and the arithmetic between them are a guess
/// of 0.4 us. 128 threads with at most 64 registers: at least 8 thread blocks on an SM.
[[nodiscard]] inline PredictedWalk kernel_walk(const PredictedGpu& gpu) {
    return {
        .tokens_per_step = 16, .step_us = 2 * gpu.dram_wait_us + 0.4, .resident_thread_blocks = 8};
}

/// The attention of the gather baseline: 4 warps take 4 tokens each, ask for K and V together and
/// meet at no barrier; a guess of 0.3 us for the rest. The copy has just been written, but only a
/// short one is still in L2: DRAM is assumed.
[[nodiscard]] inline PredictedWalk gathered_walk(const PredictedGpu& gpu) {
    return {.tokens_per_step = 16, .step_us = gpu.dram_wait_us + 0.3, .resident_thread_blocks = 8};
}

/// The sizes that a prediction depends on.
struct PredictedRead {
    AttentionShape shape;
    std::int64_t num_seqs = 0;
    std::int64_t seq_len = 0;  ///< tokens of each sequence
    DType dtype = DType::bf16;

    /// Bytes of all K and V rows.
    [[nodiscard]] double kv_bytes() const {
        return static_cast<double>(shape.kv_bytes(num_seqs * seq_len, dtype));
    }
    /// Time of these bytes when DRAM is all that counts.
    [[nodiscard]] double dram_us(const PredictedGpu& gpu) const {
        return kv_bytes() / gpu.dram_bytes_per_us(shape.head_dim * bytes_of(dtype));
    }
};

/// The slowest of three: DRAM gives each row once; L2 gives it to each query head of the group; and
/// a thread block goes through its history step by step, waiting in each.
[[nodiscard]] inline double predicted_walk_us(const PredictedGpu& gpu, const PredictedRead& read,
                                              const PredictedWalk& walk) {
    const double l2_us = read.shape.group_size() * read.kv_bytes() / gpu.l2_bytes_per_us;
    const std::int64_t steps = blocks_needed(read.seq_len, walk.tokens_per_step);
    const std::int64_t thread_blocks = read.num_seqs * read.shape.num_q_heads;
    const std::int64_t at_once = std::int64_t{gpu.num_sms} * walk.resident_thread_blocks;
    const double waiting_us =
        static_cast<double>(blocks_needed(thread_blocks, at_once) * steps) * walk.step_us;
    return std::max({read.dram_us(gpu), l2_us, waiting_us});
}

/// Day 21's kernel.
[[nodiscard]] inline double predicted_kernel_us(const PredictedGpu& gpu,
                                                const PredictedRead& read) {
    return gpu.launch_us + 2 * gpu.l2_wait_us + predicted_walk_us(gpu, read, kernel_walk(gpu));
}

/// The gather baseline: a launch that reads and writes every byte, then one that reads the copy.
[[nodiscard]] inline double predicted_gather_us(const PredictedGpu& gpu,
                                                const PredictedRead& read) {
    const double copy_us =
        gpu.launch_us + 2 * gpu.l2_wait_us + gpu.dram_wait_us + 2 * read.dram_us(gpu);
    const double attend_us =
        gpu.launch_us + gpu.l2_wait_us + predicted_walk_us(gpu, read, gathered_walk(gpu));
    return copy_us + attend_us;
}

/// The load-only reads: launch, seq_len, table, the first row, and then the bytes.
[[nodiscard]] inline double predicted_load_only_us(const PredictedGpu& gpu,
                                                   const PredictedRead& read) {
    return gpu.launch_us + 2 * gpu.l2_wait_us + gpu.dram_wait_us + read.dram_us(gpu);
}

/// The contiguous read: no length and no table to wait for.
[[nodiscard]] inline double predicted_stream_us(const PredictedGpu& gpu,
                                                const PredictedRead& read) {
    return gpu.launch_us + gpu.dram_wait_us + read.kv_bytes() / gpu.dram_bytes_per_us_long_rows;
}

}  // namespace nanoserve::day21
