// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include "prediction.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/peer_comparison.hpp>

#include <fmt/core.h>

#include <filesystem>

namespace nanoserve::day26 {

namespace {

void tell_plans() {
    constexpr AttentionShape kShape = {32, 8, 128};
    fmt::print(
        "\nOne launch each, cut up by sizes alone, for {}/{}/{} on {} SMs:\n{:>9} {:>7} {:>13} "
        "{:>14} {:>17} {:>14}\n",
        kShape.num_q_heads, kShape.num_kv_heads, kShape.head_dim, KnownGpu{}.num_sms, "sequences",
        "tokens", "thread blocks", "KV heads each", "of a cluster", "warps each");
    for (const ReadCell& cell : gpu_bench::peer_cells(kShape)) {
        if (cell.pattern == gpu_bench::Pattern::uniform) {
            const DecodePlan plan = plan_of(sizes_of(cell));
            fmt::print("{:>9} {:>7} {:>13} {:>14} {:>17} {:>14}\n", cell.num_seqs, cell.seq_len,
                       thread_blocks_of(cell, plan), plan.heads_per_block, plan.num_splits,
                       plan.num_warps);
        }
    }
}

// Only a record can be compared; without one there is nothing to claim.
void tell_claims() {
    const auto data = std::filesystem::path(NANOSERVE_ROOT) / "data";
    const auto record = data / "day-26-as-peers-h200.csv";
    if (std::filesystem::exists(record)) {
        const auto cells =
            report::compare_with_peers(report::read_csv(record), "paged_attention",
                                       report::read_peers(data / "peers" / "h200-peers.csv"));
        fmt::print("\nThe record against the peers of data/peers/h200-peers.csv:\n{}",
                   report::format_claims(report::claims_of(cells)));
    }
}

}  // namespace

void tell_without_gpu() {
    tell_plans();
    tell_claims();
}

}  // namespace nanoserve::day26
