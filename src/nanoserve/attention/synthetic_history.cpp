// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/cache/out_of_memory.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <limits>
#include <random>

namespace nanoserve {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void require_in_range(const char* name, std::int64_t value, std::int64_t least) {
    require(value >= least && value <= kMost, name, " is ", value, "; it must be from ", least,
            " to ", kMost);
}

std::int32_t blocks_of(const HistorySpec& spec) {
    validate(spec.shape);
    require_in_range("seq_len", spec.seq_len, 0);
    require_in_range("block_size", spec.block_size, 1);
    require_in_range("num_histories", spec.num_histories, 1);
    require_in_range("spare_tokens", spec.spare_tokens, 0);
    const std::int64_t blocks = spec.num_histories * blocks_needed(spec.seq_len, spec.block_size) +
                                blocks_needed(spec.spare_tokens, spec.block_size);
    require(blocks <= kMost, "the histories need ", blocks, " blocks; a pool has at most ", kMost);
    return static_cast<std::int32_t>(blocks);
}

KVLayout layout_of(const HistorySpec& spec) {
    return nhd_layout({.dtype = spec.dtype,
                       .num_blocks = blocks_of(spec),
                       .block_size = spec.block_size,
                       .num_kv_heads = spec.shape.num_kv_heads,
                       .head_dim = spec.shape.head_dim});
}

std::vector<float> random_rows(std::int64_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    std::ranges::generate(values, [&] { return normal(random); });
    return values;
}

}  // namespace

SyntheticHistory::SyntheticHistory(const HistorySpec& spec) try
    : spec_(spec), cache_(1, layout_of(spec)) {
    scatter_free_blocks();
    std::mt19937 random(spec.seed);
    const std::int64_t token_elements = std::int64_t{spec.shape.num_kv_heads} * spec.shape.head_dim;
    k_ = random_rows(spec.seq_len * token_elements, random);
    v_ = random_rows(spec.seq_len * token_elements, random);
    for (std::int64_t i = 0; i < spec.num_histories; ++i) {
        seqs_.push_back(cache_.add_sequence());
        const auto written = cache_.prefill(seqs_.back(), 0, rows());
        require(written.ok(), to_string(written));
        tables_.push_back(cache_.batch({&seqs_.back(), 1}));
    }
    q_ = random_rows(std::int64_t{spec.shape.num_q_heads} * spec.shape.head_dim, random);
    token_ = random_rows(token_elements, random);
    params_.q = q_.data();
    params_.num_q_heads = spec.shape.num_q_heads;
    params_.kv = cache_.view();
    select(0);
} catch (const std::bad_alloc&) {
    const std::int64_t pool_tokens = std::int64_t{blocks_of(spec)} * spec.block_size;
    throw OutOfMemory(static_cast<double>(spec.shape.kv_bytes(pool_tokens, spec.dtype)) +
                          static_cast<double>(spec.shape.kv_bytes(spec.seq_len, DType::fp32)),
                      join_text(spec.num_histories, " histories of ", spec.seq_len, " tokens"));
}

void SyntheticHistory::rotate() {
    select((current_ + 1) % seqs_.size());
}

WriteResult SyntheticHistory::append() {
    const WriteResult written = cache_.append(seqs_[current_], 0, token_.data(), token_.data());
    if (written.ok()) {
        tables_[current_] = cache_.batch({&seqs_[current_], 1});
        select(current_);
    }
    return written;
}

// Fills the pool with sequences of one block and frees them in random order: from now on the pool
// hands out its blocks in the reverse of that order.
void SyntheticHistory::scatter_free_blocks() {
    const auto num_elements = static_cast<std::size_t>(spec_.shape.num_kv_heads) *
                              static_cast<std::size_t>(spec_.shape.head_dim);
    const std::vector<float> rows(num_elements, 0.0f);
    std::vector<SeqId> seqs;
    while (cache_.pool().num_free() > 0) {
        seqs.push_back(cache_.add_sequence());
        require(cache_.append(seqs.back(), 0, rows.data(), rows.data()).ok(),
                "the pool lost a block");
    }
    std::mt19937 random(spec_.seed + 1);
    std::ranges::shuffle(seqs, random);
    for (const SeqId seq : seqs) {
        cache_.free(seq);
    }
}

void SyntheticHistory::select(std::size_t index) {
    current_ = index;
    set_block_tables(params_, tables_[index]);
}

std::int64_t histories_in(std::int64_t pool_bytes, const HistorySpec& spec) {
    validate(layout_of(spec));
    const std::int64_t history_bytes = spec.shape.kv_bytes(
        blocks_needed(spec.seq_len, spec.block_size) * spec.block_size, spec.dtype);
    const bool is_one_enough = history_bytes == 0 || pool_bytes <= history_bytes;
    return is_one_enough ? 1 : (pool_bytes - 1) / history_bytes + 1;
}

}  // namespace nanoserve
