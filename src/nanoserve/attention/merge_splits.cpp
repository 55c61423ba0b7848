// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/merge_splits.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nanoserve {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

void validate(const MergeSplitsParams& p) {
    require(p.num_splits >= 0, "num_splits is ", p.num_splits, "; it must not be negative");
    require(p.num_rows >= 0, "num_rows is ", p.num_rows, "; it must not be negative");
    require(p.head_dim >= 0, "head_dim is ", p.head_dim, "; it must not be negative");
    require(p.num_rows == 0 || p.out != nullptr, "out is null");
    require(is_io_dtype(p.out_dtype), "out_dtype is ", to_string(p.out_dtype),
            "; it must be fp32, fp16 or bf16");
    require(p.num_rows == 0 || p.num_splits == 0 ||
                (p.out_partial != nullptr && p.lse_partial != nullptr),
            "out_partial or lse_partial is null");
    require_aligned("out_partial", p.out_partial, sizeof *p.out_partial);
    require_aligned("lse_partial", p.lse_partial, sizeof *p.lse_partial);
    require_aligned("out", p.out, bytes_of(p.out_dtype));
    require_aligned("lse", p.lse, sizeof *p.lse);
}

// The largest lse of the pieces of one row.
float largest_lse(const MergeSplitsParams& p, std::int64_t row) {
    float max = kNegativeInfinity;
    for (std::int64_t i = 0; i < p.num_splits; ++i) {
        max = std::max(max, p.lse_partial[i * p.num_rows + row]);
    }
    return max;
}

// sums[d] = sum over the pieces of exp(lse_i - max) * out_i[d]. Returns the sum of the weights.
double add_pieces(const MergeSplitsParams& p, std::int64_t row, float max,
                  std::vector<double>& sums) {
    std::ranges::fill(sums, 0.0);
    double sum_of_weights = 0.0;
    for (std::int64_t i = 0; i < p.num_splits; ++i) {
        const float piece_lse = p.lse_partial[i * p.num_rows + row];
        if (piece_lse == kNegativeInfinity) {
            continue;
        }
        const double weight = std::exp(double{piece_lse} - double{max});
        const float* piece = p.out_partial + (i * p.num_rows + row) * p.head_dim;
        for (std::size_t d = 0; d < sums.size(); ++d) {
            sums[d] += weight * double{piece[d]};
        }
        sum_of_weights += weight;
    }
    return sum_of_weights;
}

}  // namespace

void merge_splits(const MergeSplitsParams& p) {
    validate(p);
    if (p.num_rows == 0) {
        return;
    }
    std::vector<double> sums(static_cast<std::size_t>(p.head_dim));
    for (std::int64_t row = 0; row < p.num_rows; ++row) {
        const float max = largest_lse(p, row);
        const double sum_of_weights = add_pieces(p, row, max, sums);
        const double divisor = sum_of_weights == 0.0 ? 1.0 : sum_of_weights;  // no token: all is 0
        visit_io_dtype(p.out_dtype, [&]<class T>() {
            std::ranges::transform(
                sums, static_cast<T*>(p.out) + row * p.head_dim,
                [divisor](double x) { return from_float<T>(static_cast<float>(x / divisor)); });
        });
        if (p.lse != nullptr) {
            // ln 0 is -inf, which is the lse of no tokens.
            p.lse[row] = static_cast<float>(double{max} + std::log(sum_of_weights));
        }
    }
}

}  // namespace nanoserve
