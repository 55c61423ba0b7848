// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "reliability/cache_model.hpp"

#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <bit>

namespace nanoserve::testing {
namespace {

std::string name_of(SeqId seq) {
    return join_text("sequence ", static_cast<std::int64_t>(seq));
}

template <class T>
bool row_is(const T* row, float scale, std::uint32_t token, bool is_key, std::int32_t layer,
            std::int64_t head, std::int64_t head_dim) {
    for (std::int64_t d = 0; d < head_dim; ++d) {
        const T expected = quantise<T>(token_element(token, is_key, layer, head, d), scale);
        if (to_float(row[d]) != to_float(expected)) {
            return false;
        }
    }
    return true;
}

std::optional<std::string> fault_of_token(const PagedKVView& view, BlockId block, std::int64_t slot,
                                          std::uint32_t token, std::int32_t layer) {
    return visit_dtype(view.layout.dtype, [&]<class T>() -> std::optional<std::string> {
        for (std::int64_t head = 0; head < view.layout.num_kv_heads; ++head) {
            if (!row_is(view.k_row<T>(block, slot, head), view.scales.k.of_head(head), token, true,
                        layer, head, view.layout.head_dim)) {
                return join_text("K of head ", head);
            }
            if (!row_is(view.v_row<T>(block, slot, head), view.scales.v.of_head(head), token, false,
                        layer, head, view.layout.head_dim)) {
                return join_text("V of head ", head);
            }
        }
        return {};
    });
}

std::optional<std::string> fault_of_layer(const PagedKVCache& cache, SeqId seq, std::int32_t layer,
                                          const std::vector<std::uint32_t>& tokens,
                                          std::int64_t stride) {
    if (cache.seq_len(seq, layer) != std::ssize(tokens)) {
        return join_text(name_of(seq), " has ", cache.seq_len(seq, layer), " tokens in layer ",
                         layer, ", not ", tokens.size());
    }
    const PagedKVView view = cache.view(layer);
    const auto table = cache.block_table(seq);
    const std::int64_t block_size = view.layout.block_size;
    for (std::int64_t t = std::ssize(tokens) - 1; t >= 0; t -= stride) {
        const BlockId block = table[static_cast<std::size_t>(t / block_size)];
        if (const auto fault = fault_of_token(view, block, t % block_size,
                                              tokens[static_cast<std::size_t>(t)], layer)) {
            return join_text(name_of(seq), ", layer ", layer, ", token ", t, ": ", *fault,
                             " is not what was written");
        }
    }
    return {};
}

// Names and blocks stand for each other.
std::optional<std::string> fault_of_names(const PagedKVCache& cache, const CacheModel& model) {
    std::map<std::int64_t, BlockId> block_of_name;
    std::map<BlockId, std::int64_t> name_of_block;
    for (const auto& [seq, expected] : model.sequences()) {
        const auto table = cache.block_table(seq);
        for (std::size_t i = 0; i < table.size(); ++i) {
            const std::int64_t name = expected.blocks[i];
            if (block_of_name.emplace(name, table[i]).first->second != table[i] ||
                name_of_block.emplace(table[i], name).first->second != name) {
                return join_text("entry ", i, " of ", name_of(seq), " is block ", table[i],
                                 ", which stands for another block elsewhere");
            }
        }
    }
    for (BlockId block = 0; block < cache.layout().num_blocks; ++block) {
        const auto name = name_of_block.find(block);
        const std::int32_t holders = name == name_of_block.end() ? 0 : model.holders(name->second);
        if (cache.pool().ref_count(block) != holders) {
            return join_text("block ", block, " counts ", cache.pool().ref_count(block),
                             " holders, not ", holders);
        }
    }
    return {};
}

}  // namespace

void CacheModel::add(SeqId seq) {
    sequences_[seq].tokens.resize(static_cast<std::size_t>(num_layers_));
}

void CacheModel::fork(SeqId parent, SeqId child) {
    const Sequence copy = sequences_.at(parent);
    for (const std::int64_t block : copy.blocks) {
        ++holders_.at(block);
    }
    sequences_[child] = copy;
}

void CacheModel::free(SeqId seq) {
    for (const std::int64_t block : sequences_.at(seq).blocks) {
        drop_block(block);
    }
    sequences_.erase(seq);
}

std::int64_t CacheModel::blocks_wanted(SeqId seq, std::int32_t layer,
                                       std::int64_t num_tokens) const {
    const Sequence& sequence = sequences_.at(seq);
    const std::int64_t begin = std::ssize(sequence.tokens[static_cast<std::size_t>(layer)]);
    const std::int64_t table_size = std::ssize(sequence.blocks);
    std::int64_t wanted = 0;
    std::int64_t last_block = -1;
    for (std::int64_t t = begin; t < begin + num_tokens; ++t) {
        const std::int64_t i = t / layout_.block_size;
        if (i == last_block) {
            continue;
        }
        last_block = i;
        wanted += i >= table_size || holders_.at(sequence.blocks[static_cast<std::size_t>(i)]) > 1;
    }
    return wanted;
}

void CacheModel::write(SeqId seq, std::int32_t layer, std::int64_t num_tokens,
                       std::uint32_t first) {
    Sequence& sequence = sequences_.at(seq);
    auto& tokens = sequence.tokens[static_cast<std::size_t>(layer)];
    for (std::int64_t n = 0; n < num_tokens; ++n) {
        const auto i = tokens.size() / static_cast<std::size_t>(layout_.block_size);
        if (i == sequence.blocks.size()) {
            sequence.blocks.push_back(take_block());
        } else if (holders_.at(sequence.blocks[i]) > 1) {
            drop_block(sequence.blocks[i]);
            sequence.blocks[i] = take_block();
        }
        tokens.push_back(first + static_cast<std::uint32_t>(n));
    }
}

std::int64_t CacheModel::take_block() {
    holders_[next_block_] = 1;
    return next_block_++;
}

void CacheModel::drop_block(std::int64_t block) {
    if (--holders_.at(block) == 0) {
        holders_.erase(block);
    }
}

float token_element(std::uint32_t token, bool is_key, std::int32_t layer, std::int64_t h,
                    std::int64_t d) {
    std::uint32_t mixed = token * 0x9e3779b9u + static_cast<std::uint32_t>(layer) * 0x85ebca6bu +
                          static_cast<std::uint32_t>(h * 1021 + d * 7 + (is_key ? 3 : 0));
    mixed ^= mixed >> 15;
    return static_cast<float>(mixed * 0x2c1b3c6du % 251u);
}

std::vector<float> token_rows(const KVLayout& layout, std::uint32_t first, std::int64_t num_tokens,
                              bool is_key, std::int32_t layer) {
    std::vector<float> rows;
    rows.reserve(static_cast<std::size_t>(num_tokens * layout.num_kv_heads * layout.head_dim));
    for (std::int64_t t = 0; t < num_tokens; ++t) {
        for (std::int64_t h = 0; h < layout.num_kv_heads; ++h) {
            for (std::int64_t d = 0; d < layout.head_dim; ++d) {
                rows.push_back(
                    token_element(first + static_cast<std::uint32_t>(t), is_key, layer, h, d));
            }
        }
    }
    return rows;
}

std::optional<std::string> fault_of_sequence(const PagedKVCache& cache, const CacheModel& model,
                                             SeqId seq, std::int64_t stride) {
    const CacheModel::Sequence& expected = model.sequences().at(seq);
    const auto table = cache.block_table(seq);
    if (table.size() != expected.blocks.size()) {
        return join_text(name_of(seq), " has ", table.size(), " blocks, not ",
                         expected.blocks.size());
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (cache.pool().ref_count(table[i]) != model.holders(expected.blocks[i])) {
            return join_text("block ", table[i], " counts ", cache.pool().ref_count(table[i]),
                             " holders, not ", model.holders(expected.blocks[i]));
        }
    }
    for (std::size_t layer = 0; layer < expected.tokens.size(); ++layer) {
        if (auto fault = fault_of_layer(cache, seq, static_cast<std::int32_t>(layer),
                                        expected.tokens[layer], stride)) {
            return fault;
        }
    }
    return {};
}

std::optional<std::string> fault_of_cache(const PagedKVCache& cache, const CacheModel& model,
                                          std::int64_t stride) {
    const BlockPool& pool = cache.pool();
    if (pool.num_free() != model.num_free() ||
        pool.num_free() + pool.num_used() != pool.num_blocks()) {
        return join_text(pool.num_free(), " blocks are free and ", pool.num_used(), " used of ",
                         pool.num_blocks(), "; free should be ", model.num_free());
    }
    if (cache.num_seqs() != std::ssize(model.sequences())) {
        return join_text("the cache has ", cache.num_seqs(), " sequences, not ",
                         model.sequences().size());
    }
    for (const auto& [seq, expected] : model.sequences()) {
        if (auto fault = fault_of_sequence(cache, model, seq, stride)) {
            return fault;
        }
    }
    return fault_of_names(cache, model);
}

CacheState state_of(const PagedKVCache& cache, const CacheModel& model) {
    CacheState state;
    const KVLayout& layout = cache.layout();
    const auto pool_bytes = layout.num_blocks * layout.block_stride * bytes_of(layout.dtype);
    for (std::int32_t layer = 0; layer < cache.num_layers(); ++layer) {
        const PagedKVView view = cache.view(layer);
        for (const void* pool : {view.k_cache, view.v_cache}) {
            const auto* bytes = static_cast<const std::byte*>(pool);
            state.pools.insert(state.pools.end(), bytes, bytes + pool_bytes);
        }
        for (std::int64_t head = 0; head < layout.num_kv_heads; ++head) {
            state.scales.push_back(view.scales.k.of_head(head));
            state.scales.push_back(view.scales.v.of_head(head));
        }
    }
    for (const auto& [seq, expected] : model.sequences()) {
        const auto table = cache.block_table(seq);
        state.tables[seq].assign(table.begin(), table.end());
        for (std::int32_t layer = 0; layer < cache.num_layers(); ++layer) {
            state.seq_lens[seq].push_back(cache.seq_len(seq, layer));
        }
    }
    for (BlockId block = 0; block < layout.num_blocks; ++block) {
        state.ref_counts.push_back(cache.pool().ref_count(block));
    }
    state.num_free = cache.pool().num_free();
    state.num_seqs = cache.num_seqs();
    return state;
}

}  // namespace nanoserve::testing
