// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/paged_case.hpp"

#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace nanoserve::testing {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr BlockId kImpossibleBlock = 1 << 30;

const char* to_string(PoolOrder order) {
    switch (order) {
        case PoolOrder::hnd:
            return "HND";
        case PoolOrder::interleaved:
            return "interleaved";
        case PoolOrder::nhd:
            break;
    }
    return "NHD";
}

KVLayout dense_layout(PoolOrder order, const PoolShape& shape) {
    switch (order) {
        case PoolOrder::hnd:
            return hnd_layout(shape);
        case PoolOrder::interleaved:
            return interleaved_layout(shape);
        case PoolOrder::nhd:
            break;
    }
    return nhd_layout(shape);
}

KVLayout make_layout(const CaseSpec& spec, std::int32_t num_blocks) {
    KVLayout layout =
        dense_layout(spec.order, {.dtype = spec.dtype,
                                  .num_blocks = num_blocks,
                                  .block_size = spec.block_size,
                                  .num_kv_heads = spec.shape.num_kv_heads,
                                  .head_dim = spec.shape.head_dim + spec.row_padding});
    layout.head_dim = spec.shape.head_dim;
    return layout;
}

void store_all(std::vector<std::byte>& bytes, DType dtype, std::size_t count, auto next) {
    bytes.resize(count * static_cast<std::size_t>(bytes_of(dtype)));
    visit_dtype(dtype, [&]<class T>() {
        std::generate_n(reinterpret_cast<T*>(bytes.data()), count,
                        [&] { return from_float<T>(next()); });
    });
}

}  // namespace

PagedCase::PagedCase(const CaseSpec& spec) : spec_(spec) {
    std::int64_t num_used = 0;
    for (const std::int32_t seq_len : spec.seq_lens) {
        const std::int64_t blocks = blocks_needed(seq_len, spec.block_size);
        num_used += blocks;
        tables_.max_blocks_per_seq =  // with an entry that nobody may follow
            std::max(tables_.max_blocks_per_seq, blocks + (spec.spare_entry ? 1 : 0));
    }
    layout_ =
        make_layout(spec, static_cast<std::int32_t>(num_used + 3));  // and blocks that nobody owns
    tables_.seq_lens = spec.seq_lens;
    for (std::int32_t head = 0; spec.scaled && head < spec.shape.num_kv_heads; ++head) {
        k_scales_.push_back(1.3f + 0.1f * static_cast<float>(head));
        v_scales_.push_back(1.0f / (1.1f + 0.3f * static_cast<float>(head)));  // v stays below 1
    }
    for (std::int32_t head = 0; head < spec.shape.num_q_heads; ++head) {
        const auto h = static_cast<float>(head);
        if (spec.alibi) {
            alibi_slopes_.push_back(
                std::exp2(-8.0f * (h + 1.0f) / static_cast<float>(spec.shape.num_q_heads)));
        }
        if (spec.sinks) {
            sinks_.push_back(head == 0 ? -std::numeric_limits<float>::infinity() : 3.0f - h);
        }
    }
    fill_pools();
    std::mt19937 random(spec.seed + 1000);
    std::normal_distribution<float> normal(0.0f, spec.q_scale);
    const std::int64_t row = std::int64_t{spec.shape.num_q_heads} * spec.shape.head_dim;
    const auto stride = static_cast<std::size_t>(row + spec.q_padding);
    std::size_t element = 0;
    store_all(q_, spec.io_dtype, static_cast<std::size_t>(tables_.num_seqs()) * stride, [&] {
        return element++ % stride < static_cast<std::size_t>(row) ? normal(random) : kNaN;
    });
}

void PagedCase::fill_pools() {
    const auto num_elements = static_cast<std::size_t>(layout_.num_blocks * layout_.block_stride);
    store_all(k_, spec_.dtype, num_elements, [] { return kNaN; });
    if (spec_.order != PoolOrder::interleaved) {
        store_all(v_, spec_.dtype, num_elements, [] { return kNaN; });
    }
    std::mt19937 random(spec_.seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<BlockId> ids(static_cast<std::size_t>(layout_.num_blocks));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), random);
    auto next_id = ids.begin();
    for (const std::int32_t seq_len : spec_.seq_lens) {
        std::vector<BlockId> row(static_cast<std::size_t>(tables_.max_blocks_per_seq),
                                 kImpossibleBlock);
        std::copy_n(next_id, blocks_needed(seq_len, spec_.block_size), row.begin());
        next_id += static_cast<std::ptrdiff_t>(blocks_needed(seq_len, spec_.block_size));
        const std::int64_t first =
            ScoreRules{.sliding_window = spec_.sliding_window}.first_token(seq_len);
        std::fill_n(row.begin(), first / spec_.block_size, kImpossibleBlock);
        for (std::int64_t t = first; t < seq_len; ++t) {
            const BlockId block = row[static_cast<std::size_t>(t / spec_.block_size)];
            for (std::int64_t h = 0; h < spec_.shape.num_kv_heads; ++h) {
                for (const bool is_key : {true, false}) {
                    visit_dtype(spec_.dtype, [&]<class T>() {
                        const auto view = PagedKVView{params().kv};
                        const T* row_start = is_key ? view.k_row<T>(block, t % spec_.block_size, h)
                                                    : view.v_row<T>(block, t % spec_.block_size, h);
                        const float scale = is_key ? spec_.k_scale : spec_.v_scale;
                        std::generate_n(const_cast<T*>(row_start), spec_.shape.head_dim,
                                        [&] { return from_float<T>(scale * uniform(random)); });
                    });
                }
            }
        }
        tables_.block_tables.insert(tables_.block_tables.end(), row.begin(), row.end());
    }
}

PagedAttentionParams PagedCase::params() {
    const auto rows = static_cast<std::size_t>(tables_.num_seqs() * spec_.shape.num_q_heads);
    store_all(out_, spec_.io_dtype, rows * static_cast<std::size_t>(spec_.shape.head_dim),
              [] { return kNaN; });
    lse_.assign(rows, kNaN);
    const std::int64_t v_offset = spec_.order == PoolOrder::interleaved
                                      ? layout_.block_stride / 2 * bytes_of(spec_.dtype)
                                      : 0;
    const std::byte* v_cache =
        spec_.order == PoolOrder::interleaved ? k_.data() + v_offset : v_.data();
    PagedAttentionParams params{
        .q = q_.data(),
        .out = out_.data(),
        .lse = lse_.data(),
        .io_dtype = spec_.io_dtype,
        .num_q_heads = spec_.shape.num_q_heads,
        .q_stride =
            spec_.q_padding == 0
                ? 0
                : std::int64_t{spec_.shape.num_q_heads} * spec_.shape.head_dim + spec_.q_padding,
        .kv = {.k_cache = k_.data(), .v_cache = v_cache, .layout = layout_}};
    if (spec_.scaled) {
        params.kv.scales = {.k = {.tensor = 0.7f, .heads = k_scales_.data()},
                            .v = {.tensor = 0.9f, .heads = v_scales_.data()}};
    }
    params.rules = {.sliding_window = spec_.sliding_window,
                    .logits_soft_cap = spec_.logits_soft_cap,
                    .alibi_slopes = spec_.alibi ? alibi_slopes_.data() : nullptr,
                    .sinks = spec_.sinks ? sinks_.data() : nullptr};
    set_block_tables(params, tables_);
    return params;
}

std::vector<float> PagedCase::out_floats() const {
    std::vector<float> floats(out_.size() / static_cast<std::size_t>(bytes_of(spec_.io_dtype)));
    visit_dtype(spec_.io_dtype, [&]<class T>() {
        const T* elements = reinterpret_cast<const T*>(out_.data());
        std::transform(elements, elements + floats.size(), floats.begin(),
                       [](T x) { return to_float(x); });
    });
    return floats;
}

void PagedCase::set_row(bool is_key, BlockId block, std::int64_t slot, std::int64_t head,
                        float value) {
    const PagedKVView view = params().kv;
    visit_dtype(spec_.dtype, [&]<class T>() {
        const T* row = is_key ? view.k_row<T>(block, slot, head) : view.v_row<T>(block, slot, head);
        std::fill_n(const_cast<T*>(row), spec_.shape.head_dim, from_float<T>(value));
    });
}

void PagedCase::set_q(float value) {
    const auto count = q_.size() / static_cast<std::size_t>(bytes_of(spec_.io_dtype));
    store_all(q_, spec_.io_dtype, count, [value] { return value; });
}

std::string PagedCase::describe() const {
    std::string text = join_text(
        "heads ", spec_.shape.num_q_heads, "/", spec_.shape.num_kv_heads, "/", spec_.shape.head_dim,
        ", block_size ", spec_.block_size, ", pool ", to_string(spec_.dtype),
        spec_.scaled ? " with scales, q " : ", q ", to_string(spec_.io_dtype), ", order ",
        to_string(spec_.order), ", row_padding ", spec_.row_padding, ", q_padding ",
        spec_.q_padding, ", scales of q, k, v ", spec_.q_scale, " ", spec_.k_scale, " ",
        spec_.v_scale, ", window ", spec_.sliding_window, ", soft cap ", spec_.logits_soft_cap,
        spec_.alibi ? ", ALiBi" : "", spec_.sinks ? ", sinks" : "", ", seed ", spec_.seed,
        ", seq_lens");
    for (const std::int32_t seq_len : spec_.seq_lens) {
        text += join_text(" ", seq_len);
    }
    return text;
}

}  // namespace nanoserve::testing
