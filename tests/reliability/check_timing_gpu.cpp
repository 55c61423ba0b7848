// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// OPEN-18 and OPEN-19 on a GPU: kernels that are timed without waiting for them, and a ranking that
// depends on who goes first. A part of ./course verify where there is a GPU.
// Exit status: 0 all hold; 1 one does not; 4 there is no GPU.
#include "support/device_case.hpp"

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <kernels/clock.hpp>
#include <kernels/device.hpp>
#include <kernels/paged_attention.hpp>

#include <cmath>
#include <iostream>
#include <numeric>

using namespace nanoserve;
using nanoserve::testing::DeviceBuffer;

namespace {

constexpr std::int64_t kNumSeqs = 64;
constexpr std::int32_t kBlockSize = 16;
constexpr AttentionShape kShape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};
constexpr int kByte = 0x3c;  // 0x3c3c is 0.0115 in bf16
constexpr auto kRowBytes = static_cast<std::size_t>(kShape.num_q_heads * kShape.head_dim * 2);

// A batch of equal histories, all values alike: it is timed against itself.
class Batch {
  public:
    explicit Batch(std::int32_t seq_len)
        : num_blocks_(kNumSeqs * seq_len / kBlockSize),
          pool_bytes_(static_cast<std::size_t>(num_blocks_) * kBlockSize * kShape.num_kv_heads *
                      kShape.head_dim * 2),
          k_(pool_bytes_),
          v_(pool_bytes_),
          q_(kNumSeqs * kRowBytes),
          out_(kNumSeqs * kRowBytes),
          tables_(all_blocks(num_blocks_)),
          seq_lens_(std::vector<std::int32_t>(kNumSeqs, seq_len)) {
        for (const DeviceBuffer* pool : {&k_, &v_}) {
            NANOSERVE_CUDA_TRY(cudaMemset(pool->data(), kByte, pool_bytes_));
        }
        NANOSERVE_CUDA_TRY(cudaMemset(q_.data(), kByte, kNumSeqs * kRowBytes));
    }

    [[nodiscard]] PagedAttentionParams params() const {
        return {.q = q_.data(),
                .out = out_.data(),
                .io_dtype = DType::bf16,
                .num_q_heads = kShape.num_q_heads,
                .kv = {.k_cache = k_.data(),
                       .v_cache = v_.data(),
                       .layout = nhd_layout({.dtype = DType::bf16,
                                             .num_blocks = static_cast<std::int32_t>(num_blocks_),
                                             .block_size = kBlockSize,
                                             .num_kv_heads = kShape.num_kv_heads,
                                             .head_dim = kShape.head_dim})},
                .block_tables = tables_.as<BlockId>(),
                .seq_lens = seq_lens_.as<std::int32_t>(),
                .num_seqs = kNumSeqs,
                .max_blocks_per_seq = num_blocks_ / kNumSeqs};
    }

  private:
    static std::vector<BlockId> all_blocks(std::int64_t num_blocks) {
        std::vector<BlockId> ids(static_cast<std::size_t>(num_blocks));
        std::iota(ids.begin(), ids.end(), 0);
        return ids;
    }

    std::int64_t num_blocks_;
    std::size_t pool_bytes_;
    DeviceBuffer k_, v_, q_, out_, tables_, seq_lens_;
};

double event_ns(const Batch& batch) {
    CudaEventClock clock(nullptr);
    const auto read = [&] { paged_attention(batch.params(), nullptr); };
    return time_read(clock, read, {.num_samples = 20, .settle_calls = 1}).best_ns().value_or(0.0);
}

double host_ns(const Batch& batch) {
    SteadyClock clock;
    const auto read = [&] {
        paged_attention(batch.params(), nullptr);
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
    };
    return time_read(clock, read, {.num_samples = 20}).best_ns().value_or(0.0);
}

bool say(const char* what, bool holds) {
    std::cout << what << (holds ? " ... Passed\n" : " ... Failed\n");
    return holds;
}

// A launch alone takes the same few microseconds for every history.
bool work_is_timed() {
    const double small = event_ns(Batch(1024));
    const Batch large_batch(65536);
    const double large = event_ns(large_batch);
    const double on_host = host_ns(large_batch);
    std::cout << "paged_attention over 1024 tokens " << small / 1e3 << " us, over 65536 "
              << large / 1e3 << " us, by the host's clock " << on_host / 1e3 << " us\n";
    return say("OPEN-18: what is timed on the GPU is the kernel",
               large > 8.0 * small && std::abs(on_host / large - 1.0) < 0.2);
}

bool order_does_not_matter() {
    const Batch batch(1024);
    CudaEventClock clock(nullptr);
    const auto general = [&] { general_attention(batch.params(), nullptr); };
    const auto chosen = [&] { paged_attention(batch.params(), nullptr); };
    const TimingOptions options{.num_samples = 60, .settle_calls = 1};
    const auto forth = compare_reads(clock, general, chosen, options).median_ratio();
    const auto back = compare_reads(clock, chosen, general, options).median_ratio();
    if (forth && back) {
        std::cout << "general / chosen " << *forth << ", swapped " << 1.0 / *back << '\n';
    }
    return say("OPEN-19: which kernel goes first does not move the ratio",
               forth && back && std::abs(std::log(*forth * *back)) < std::log(1.15));
}

}  // namespace

int main() {
    if (const auto reason = reason_for_no_device()) {
        std::cout << *reason << '\n';
        return 4;
    }
    const bool timed = work_is_timed();
    const bool fair = order_does_not_matter();
    return timed && fair ? 0 : 1;
}
