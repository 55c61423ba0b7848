// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Published faults of benchmarks that only a clock shows: work that was not timed (OPEN-18), and a
// ranking that depends on who goes first (OPEN-19). For a quiet machine; a part of ./course verify.
// Exit status: 0 all hold; 1 one does not.
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

using namespace nanoserve;

namespace {

constexpr AttentionShape kShape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};

// A history of fp32 whose K and V rows are `mib` MiB.
SyntheticHistory history_of(std::int64_t mib) {
    return SyntheticHistory({.shape = kShape,
                             .seq_len = (mib << 20) / kShape.kv_bytes(1, DType::fp32),
                             .dtype = DType::fp32});
}

// A read of the history, into an output of its own.
template <void (*kRead)(const PagedAttentionParams&, ReadContext&)>
struct Read {
    explicit Read(const SyntheticHistory& history)
        : out(static_cast<std::size_t>(kShape.num_q_heads * kShape.head_dim)),
          params(history.params()) {
        params.out = out.data();
    }
    void operator()() { kRead(params, context); }

    std::vector<float> out;
    PagedAttentionParams params;
    ReadContext context;
};

double best_ns(std::int64_t mib) {
    const SyntheticHistory history = history_of(mib);
    Read<gather_read> read(history);
    SteadyClock clock;
    return time_read(clock, read, {.num_samples = 20}).best_ns().value_or(0.0);
}

bool say(const char* what, bool holds) {
    std::cout << what << (holds ? " ... Passed\n" : " ... Failed\n");
    return holds;
}

// Twice the bytes take about twice the time, and none come faster than 1 TB/s.
bool work_is_timed() {
    const double small = best_ns(32);
    const double large = best_ns(64);
    std::cout << "gather_read of 32 MiB " << small / 1e6 << " ms, of 64 MiB " << large / 1e6
              << " ms\n";
    const double least = static_cast<double>(std::int64_t{64} << 20) / 1e12 * 1e9;
    return say("OPEN-18: what is timed is the read",
               large > 1.5 * small && large < 4.0 * small && large > least);
}

// A against B and B against A give the same ratio.
bool order_does_not_matter() {
    const SyntheticHistory history = history_of(8);
    Read<gather_read> gather(history);
    Read<paged_attention_reference> fused(history);
    SteadyClock clock;
    const TimingOptions options{.num_samples = 100};
    const auto forth = compare_reads(clock, gather, fused, options).median_ratio();
    const auto back = compare_reads(clock, fused, gather, options).median_ratio();
    if (forth && back) {
        std::cout << "gather / fused " << *forth << ", swapped " << 1.0 / *back << '\n';
    }
    return say("OPEN-19: who goes first does not move the ratio",
               forth && back && std::abs(std::log(*forth * *back)) < std::log(1.15));
}

}  // namespace

int main() {
    const bool timed = work_is_timed();
    const bool fair = order_does_not_matter();
    return timed && fair ? 0 : 1;
}
