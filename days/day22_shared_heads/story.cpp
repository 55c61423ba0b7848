// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/synthetic_history.hpp>

#include <fmt/core.h>
#include <kernels/general/twin.hpp>
#include <kernels/shared_heads/lane_map.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/shared_heads/twin.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nanoserve::day22 {
namespace {

std::int64_t loaded_bytes(const AccessReport& report) {
    std::int64_t bytes = 0;
    for (const HeadAccess& head : report.heads) {
        bytes += head.k_bytes + head.v_bytes;
    }
    return bytes;
}

double largest_difference(const std::vector<float>& out, const std::vector<double>& oracle) {
    double largest = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double difference = std::abs(double{out[i]} - oracle[i]);
        largest = difference <= largest ? largest : difference;  // NaN is kept
    }
    return largest;
}

void print_lanes() {
    constexpr LaneMap kLanes = {.chunks_log2 = 3};
    fmt::print(
        "One load of a warp, bf16 rows of 64 elements: 8 chunks of 16 bytes each, 4 tokens at "
        "once\n\n");
    for (int reader = 0; reader < kLanes.num_readers(); ++reader) {
        fmt::print("token {}  lanes", reader);
        for (int lane = 0; lane < 32; ++lane) {
            if (kLanes.reader(lane) == reader) {
                fmt::print("{:>4}", lane);
            }
        }
        fmt::print("\n");
    }
    fmt::print("chunk          ");
    for (int lane = 0; lane < 8; ++lane) {
        fmt::print("{:>4}", kLanes.chunk(lane));
    }
    fmt::print("\n");
}

}  // namespace

void tell_reads() {
    print_lanes();
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
    const AccessReport day21 = paged_attention_twin(params);
    //! [twin]
    const AccessReport report = shared_heads_twin(params);
    const double error = largest_difference(out, attention_oracle(params).out);
    const double bound = shared_heads_rounding_bounds(params).out;
    //! [twin]
    fmt::print(
        "\nThe kernel's CPU twin, the same steps lane by lane, {} tokens in blocks of 4. How often "
        "it read each slot:\n\n{}\n"
        "|out - float64 oracle| is at most {:.2g}; rounding explains {:.2g}\n"
        "bytes: K and V hold {}; Day 21 loads {}, today {}\n",
        kTokens, access_picture(report), error, bound, kShape.kv_bytes(kTokens, DType::fp32),
        loaded_bytes(day21), loaded_bytes(report));
    if (!(error <= bound)) {
        throw std::runtime_error("the twin's output is not the oracle's");
    }
}

}  // namespace nanoserve::day22
