// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace nanoserve {

/// Bits that general_attention sets in its status word.
enum ReadStatus : std::uint32_t {
    kAbsentBlock = 1u << 0,  ///< a used table entry lies outside the pool; its tokens were left out
    kClampedLength =
        1u << 1  ///< a seq_len is negative or more than its table holds; it was clamped
};

/// The compile-time sizes of the kernel, for heads of up to kLargestHeadDim elements; kWholeRows
/// says that head_dim is just that, so that no lane has to ask whether its element exists.
template <int kLargestHeadDim, bool kWholeRows>
struct PagedAttentionConfig {
    static constexpr int kMaxHeadDim = kLargestHeadDim;  ///< elements of a row, at most
    static constexpr int kNumLanes = 32;                 ///< threads that share a row: one warp
    static constexpr int kNumWarps = 4;                  ///< rows that are read at the same time
    static constexpr int kStepTokens = 32;  ///< tokens of one KV block that a step takes, at most
    static constexpr int kNumThreads = kNumLanes * kNumWarps;         ///< of a thread block
    static constexpr int kElementsPerLane = kMaxHeadDim / kNumLanes;  ///< of a row, at most

    static_assert(kMaxHeadDim % kNumLanes == 0, "a row is dealt out to the lanes in equal shares");
    static_assert(kStepTokens <= kNumThreads, "one thread finishes the score of one token");

    /// Whether a row has an element d; d is less than kMaxHeadDim.
    static constexpr bool has_element(int d, std::int32_t head_dim) {
        return kWholeRows || d < head_dim;
    }
};

/// What the kernel works on: the parameters, with their defaults filled in on the host.
struct PagedAttentionArgs {
    PagedAttentionParams params;      ///< as the caller gave them
    std::int64_t q_stride = 0;        ///< elements from one sequence's q to the next, never 0
    float sm_scale = 0.0f;            ///< factor on q.k
    std::uint32_t* status = nullptr;  ///< takes bits of ReadStatus; may be nullptr
};

static_assert(std::is_trivially_copyable_v<PagedAttentionArgs>, "a kernel takes them by value");

/// Checks the parameters without following seq_lens or block_tables, and fills in the defaults.
/// @throws std::invalid_argument as validate_sizes() does, and when head_dim is no multiple of 8 or
/// more than 256, or num_seqs * num_q_heads more than a grid's 2^31 - 1 thread blocks
[[nodiscard]] PagedAttentionArgs make_paged_attention_args(const PagedAttentionParams& params,
                                                           std::uint32_t* status);

/// Calls `action.template operator()<Config>()` with the smallest configuration that holds
/// head_dim.
template <class Action>
decltype(auto) visit_paged_attention_config(std::int32_t head_dim, Action&& action) {
    const auto choose = [&]<int kMaxHeadDim>() {
        if (head_dim == kMaxHeadDim) {
            return action.template operator()<PagedAttentionConfig<kMaxHeadDim, true>>();
        }
        return action.template operator()<PagedAttentionConfig<kMaxHeadDim, false>>();
    };
    if (head_dim <= 64) {
        return choose.template operator()<64>();
    }
    if (head_dim <= 128) {
        return choose.template operator()<128>();
    }
    return choose.template operator()<256>();
}

}  // namespace nanoserve
