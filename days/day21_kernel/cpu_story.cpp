// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_story.hpp"

#include "cpu_curve.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <fmt/core.h>
#include <gpu_bench/result_text.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <vector>
#if __has_include(<kernels/general/twin.hpp>)
#include <kernels/general/rounding_bounds.hpp>
#include <kernels/general/twin.hpp>
#define NANOSERVE_HAVE_TWIN 1
#endif

namespace nanoserve::day21 {
namespace {

#ifdef NANOSERVE_HAVE_TWIN
double largest_difference(const std::vector<float>& out, const std::vector<double>& oracle) {
    double largest = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double difference = std::abs(double{out[i]} - oracle[i]);
        largest = difference <= largest ? largest : difference;  // NaN is kept
    }
    return largest;
}

// The steps of the kernel on a history that can be looked at.
void run_twin() {
    constexpr AttentionShape kShape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 16};
    constexpr std::int64_t kTokens = 10;
    const SyntheticHistory history({.shape = kShape,
                                    .seq_len = kTokens,
                                    .block_size = 4,
                                    .num_histories = 2,
                                    .spare_tokens = 8});
    std::vector<float> out(4 * 16, std::numeric_limits<float>::quiet_NaN());
    PagedAttentionParams params = history.params();
    params.out = out.data();
    //! [twin]
    const AccessReport report = paged_attention_twin(params);
    const double error = largest_difference(out, attention_oracle(params).out);
    const double bound = paged_attention_rounding_bounds(params).out;
    //! [twin]
    std::int64_t loaded_bytes = 0;
    for (const HeadAccess& head : report.heads) {
        loaded_bytes += head.k_bytes + head.v_bytes;
    }
    const std::int64_t kv_bytes = kShape.kv_bytes(kTokens, DType::fp32);
    fmt::print(
        "\nThe kernel's CPU twin, the same steps thread by thread, {} tokens in blocks of 4. How "
        "often it read each slot:\n\n{}\n"
        "|out - float64 oracle| is at most {:.2g}; rounding explains {:.2g}\n"
        "bytes: K and V hold {}; each query head of a group of {} loads its rows again: {} "
        "loaded\n",
        kTokens, access_picture(report), error, bound, kv_bytes, kShape.group_size(), loaded_bytes);
    if (!(error <= bound)) {
        throw std::runtime_error("the twin's output is not the oracle's");
    }
}
#else
void run_twin() {
    fmt::print("The kernel's CPU twin is not in this build.\n");
}
#endif

void print_recorded_results() {
    const auto csv = std::filesystem::path(NANOSERVE_ROOT) / "data" / "day-21-kernel-h200.csv";
    if (!std::filesystem::exists(csv)) {
        fmt::print("\nThere are no recorded results: {} is missing\n", csv.string());
        return;
    }
    const auto rows = report::read_csv(csv);
    fmt::print("\nRecorded, from {}:\n{}", csv.string(), gpu_bench::format_rows(rows));
    fmt::print("{}", format_beside_cpu(recorded_cpu_rows(), rows));
    const auto sidecar = report::sidecar_path(csv);
    if (std::filesystem::exists(sidecar)) {
        fmt::print("\n{}\n", report::plot_caption(report::read_sidecar(sidecar).provenance));
    }
}

}  // namespace

void tell_without_gpu() {
    run_twin();
    print_recorded_results();
}

}  // namespace nanoserve::day21
