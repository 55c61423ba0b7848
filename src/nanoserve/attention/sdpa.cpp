// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/sdpa.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>

namespace nanoserve {
namespace {

void validate(const SdpaParams& p) {
    nanoserve::validate(p.shape);
    require(p.num_queries >= 0, "num_queries is ", p.num_queries, "; it must not be negative");
    require(p.num_tokens >= 0, "num_tokens is ", p.num_tokens, "; it must not be negative");
    require(p.num_queries == 0 || (p.q != nullptr && p.out != nullptr), "q or out is null");
    require(p.num_tokens == 0 || (p.k != nullptr && p.v != nullptr), "k or v is null");
    require(is_io_dtype(p.io_dtype), "io_dtype is ", to_string(p.io_dtype),
            "; q and out take fp32, fp16, bf16");
    require(is_pool_dtype(p.kv_dtype), "kv_dtype ", static_cast<int>(p.kv_dtype),
            " is none of fp32, fp16, bf16, fp8_e4m3");
    require_aligned("q", p.q, bytes_of(p.io_dtype));
    require_aligned("out", p.out, bytes_of(p.io_dtype));
    require_aligned("k", p.k, bytes_of(p.kv_dtype));
    require_aligned("v", p.v, bytes_of(p.kv_dtype));
    require_aligned("lse", p.lse, sizeof *p.lse);
    nanoserve::validate(p.scales, p.kv_dtype, p.shape.num_kv_heads);
    require_sm_scale(p.sm_scale);
    require_score_scales(p.sm_scale, p.shape, p.scales.k);
}

// Rows of one KV head for tokens [begin, end) of a contiguous history.
detail::Rows rows_of(const void* history, const SdpaParams& p, std::int64_t begin, std::int64_t end,
                     std::int64_t kv_head) {
    const std::int64_t token_stride = std::int64_t{p.shape.num_kv_heads} * p.shape.head_dim;
    const std::int64_t offset = begin * token_stride + kv_head * p.shape.head_dim;
    return {.data = static_cast<const std::byte*>(history) + offset * bytes_of(p.kv_dtype),
            .element_bytes = bytes_of(p.kv_dtype),
            .row_stride = token_stride,
            .num_rows = end - begin,
            .head_dim = p.shape.head_dim};
}

// Tokens that all heads score before the next ones are loaded: 32 tokens of 8 heads x 64 elements
// are 64 KiB, which the second-level cache keeps while head after head walks its own part of every
// row.
constexpr std::int64_t kTokenTile = 32;

// Calls action(begin, end, visible) for consecutive runs of at most kTokenTile tokens that the mask
// treats alike.
template <class Action>
void for_each_run(const std::uint8_t* mask, std::int64_t num_tokens, Action action) {
    for (std::int64_t begin = 0, end = 0; begin < num_tokens; begin = end) {
        const std::int64_t limit = std::min(num_tokens, begin + kTokenTile);
        const bool visible = mask == nullptr || mask[begin] != 0;
        end = begin + 1;
        while (end < limit && (mask == nullptr || (mask[end] != 0) == visible)) {
            ++end;
        }
        action(begin, end, visible);
    }
}

void attend(const SdpaParams& p, std::int64_t query, const detail::RowOps& ops,
            detail::HeadWork& work) {
    const std::int64_t row = query * p.shape.num_q_heads;
    const std::int64_t offset_bytes = row * p.shape.head_dim * bytes_of(p.io_dtype);
    const std::uint8_t* mask = p.mask == nullptr ? nullptr : p.mask + query * p.num_tokens;
    const float sm_scale = effective_sm_scale(p.sm_scale, p.shape.head_dim);
    const auto heads = work.kv_heads();

    //! [attend]
    work.load_query(static_cast<const std::byte*>(p.q) + offset_bytes, p.io_dtype);
    for_each_run(mask, p.num_tokens, [&](std::int64_t begin, std::int64_t end, bool visible) {
        if (!visible) {
            work.hide(begin, end);
            return;
        }
        for (std::int64_t h = heads.begin; h < heads.end; ++h) {
            work.score(ops, h, begin, rows_of(p.k, p, begin, end, h), sm_scale);
        }
    });
    work.exponentiate(ops);
    for_each_run(mask, p.num_tokens, [&](std::int64_t begin, std::int64_t end, bool visible) {
        for (std::int64_t h = heads.begin; visible && h < heads.end; ++h) {
            work.accumulate(ops, h, begin, rows_of(p.v, p, begin, end, h));
        }
    });
    //! [attend]
    work.write_output(static_cast<std::byte*>(p.out) + offset_bytes, p.io_dtype,
                      p.lse == nullptr ? nullptr : p.lse + row);
}

}  // namespace

void sdpa(const SdpaParams& params, ReadContext& context) {
    validate(params);
    detail::ReadState& state = context.state();
    const detail::RowOps& ops = state.row_ops(params.kv_dtype);
    for (std::int64_t query = 0; query < params.num_queries; ++query) {
        state.for_each_share_of_heads(
            params.shape, params.scales, ScoreRules{}, params.num_tokens,
            [&](detail::HeadWork& work) { attend(params, query, ops, work); });
    }
}

}  // namespace nanoserve
