// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include "scale_errors.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/peer_comparison.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace nanoserve::day27 {
namespace {

// The error of the KV head that fares worse, in per cent of its largest output.
double worst(const ScaleTrial& trial) {
    return 100.0 * std::ranges::max(errors_of(trial));
}

// What a cache of fp8 costs in digits, for values of several sizes and several scales, beside a
// cache of bf16.
void tell_scales() {
    fmt::print(
        "\nThe largest error of an output of attention, in % of its head's largest, because K and "
        "V\nwere rounded on their way into the cache:\n\n"
        "values of two KV heads     bf16    fp8, with a scale\n"
        "up to                              of 1    of the pool    of each head\n");
    struct Row {
        const char* text;
        std::array<float, kNumKvHeads> size;
    };
    for (const auto& [text, size] :
         {Row{"1 and 1", {1.0f, 1.0f}}, Row{"0.001 and 0.001", {0.001f, 0.001f}},
          Row{"1000 and 1000", {1000.0f, 1000.0f}}, Row{"1 and 0.00001", {1.0f, 0.00001f}}}) {
        fmt::print("{:<23} {:>7.2f} {:>9.2f} {:>14.2f} {:>15.2f}\n", text,
                   worst({.size = size, .dtype = DType::bf16}), worst({.size = size}),
                   worst({.size = size, .scales = ScaleChoice::tensor}),
                   worst({.size = size, .scales = ScaleChoice::heads}));
    }
}

// Only a record can be compared; without one there is nothing to claim.
void tell_claims() {
    const auto data = std::filesystem::path(NANOSERVE_ROOT) / "data";
    const auto record = data / "day-27-as-peers-h200.csv";
    if (!std::filesystem::exists(record)) {
        return;
    }
    fmt::print("\nThe record of fp8, timed as the peers of data/peers/h200-peers.csv were:\n");
    const auto bf16 = data / "day-26-as-peers-h200.csv";  // on the same card
    for (const report::DirectClaims& claims :
         report::direct_claims(report::read_csv(record), "paged_attention",
                               report::read_peers(data / "peers" / "h200-peers.csv"),
                               std::filesystem::exists(bf16) ? report::read_csv(bf16)
                                                             : std::vector<report::ReadRow>{})) {
        fmt::print(
            "head_dim {}, {} cells: {} times as fast as the better of FlashInfer's two, by the "
            "geometric mean; least {}\n",
            claims.head_dim, claims.num_cells, report::ratio_text(claims.mean_speedup),
            report::ratio_text(claims.least_speedup));
        if (claims.mean_ruled_speedup) {
            fmt::print("  over the load-only read of bf16 in both runs: {}\n",
                       report::ratio_text(*claims.mean_ruled_speedup));
        }
    }
}

}  // namespace

void tell_without_gpu() {
    tell_scales();
    tell_claims();
}

}  // namespace nanoserve::day27
