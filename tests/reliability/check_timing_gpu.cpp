// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// OPEN-18 and OPEN-19 on a GPU: kernels that are timed without waiting for them, a ranking that
// depends on who goes first, and reads that the second-level cache gives and nobody says so. A part
// of ./course verify where there is a GPU.
// Exit status: 0 all hold; 1 one does not; 4 there is no GPU.
#include "support/device_case.hpp"

#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>
#include <nanoserve/report/read_row.hpp>

#include <gpu_bench/device_memory.hpp>
#include <gpu_bench/gpu_facts.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/clock.hpp>
#include <kernels/clock_graph.hpp>
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
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());  // other streams need not wait for this one
    }

    [[nodiscard]] std::int64_t kv_bytes() const {
        return 2 * static_cast<std::int64_t>(pool_bytes_);
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

// So many reads of one batch, one behind the other: a sample.
template <class Read>
GraphReplay again_and_again(cudaStream_t stream, int num_reads, Read read) {
    read();  // the first launch of a kernel loads its code: not a thing to record
    return GraphReplay(stream, [&] {
        for (int i = 0; i < num_reads; ++i) {
            read();
        }
    });
}

bool order_does_not_matter(const Batch& batch, int num_reads) {
    const gpu_bench::Stream stream;
    CudaEventClock clock(stream.get());
    const GraphReplay general = again_and_again(
        stream.get(), num_reads, [&] { general_attention(batch.params(), stream.get()); });
    const GraphReplay chosen = again_and_again(
        stream.get(), num_reads, [&] { paged_attention(batch.params(), stream.get()); });
    const TimingOptions options{.num_samples = 60, .settle_calls = 1};
    const auto forth = compare_reads(clock, general, chosen, options).median_ratio();
    const auto back = compare_reads(clock, chosen, general, options).median_ratio();
    if (forth && back) {
        std::cout << (batch.kv_bytes() >> 20) << " MiB: general / chosen " << *forth << ", swapped "
                  << 1.0 / *back << '\n';
    }
    return say("OPEN-19: which kernel goes first does not move the ratio",
               forth && back && std::abs(std::log(*forth * *back)) < std::log(1.15));
}

// What the memory's pins can carry: two bits a clock each.
double peak_bytes_per_ns() {
    int device = 0, clock_khz = 0, num_pins = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_pins, cudaDevAttrGlobalMemoryBusWidth, device));
    return 2.0 * clock_khz * 1e-6 * num_pins / 8;
}

// Reads one batch again and again by the fastest read that there is: only a cache gives more than
// the memory can.
bool more_than_the_peak_is_labelled(const Batch& batch, const char* expected) {
    constexpr int kNumReads = 100;
    const gpu_bench::Stream stream;
    CudaEventClock clock(stream.get());
    const GraphReplay reads = again_and_again(
        stream.get(), kNumReads, [&] { load_only_nhd(batch.params(), nullptr, stream.get()); });
    const auto best_ns = time_read(clock, reads, {.num_samples = 10, .settle_calls = 1}).best_ns();
    if (!best_ns) {
        return say("OPEN-19: reads again and again are timed", false);
    }
    const auto label = report::cache_state(static_cast<double>(batch.kv_bytes()),
                                           static_cast<double>(gpu_bench::l2_bytes()));
    const double bytes_per_ns = static_cast<double>(kNumReads * batch.kv_bytes()) / *best_ns;
    std::cout << (batch.kv_bytes() >> 20) << " MiB, " << label << ": " << bytes_per_ns
              << " GB/s, the memory's peak is " << peak_bytes_per_ns() << '\n';
    return say("OPEN-19: no read above the memory's peak is called cold, nor a small one",
               label == expected && (bytes_per_ns <= peak_bytes_per_ns() || label == "warm"));
}

}  // namespace

int main() {
    if (const auto reason = reason_for_no_device()) {
        std::cout << *reason << '\n';
        return 4;
    }
    bool fine = work_is_timed();
    // 8 MiB stay in the second-level cache from read to read, 2 GiB in none.
    const Batch small(64);
    const Batch large(16384);
    fine = order_does_not_matter(small, 100) && fine;
    fine = order_does_not_matter(Batch(1024), 1) && fine;
    fine = order_does_not_matter(large, 1) && fine;
    fine = more_than_the_peak_is_labelled(small, "warm") && fine;
    fine = more_than_the_peak_is_labelled(large, "cold") && fine;
    return fine ? 0 : 1;
}
