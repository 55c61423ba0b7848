// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/detail/sequence_read.hpp>
#include <nanoserve/attention/detail/sum_words.hpp>
#include <nanoserve/attention/read_floor.hpp>
#include <nanoserve/model/require.hpp>

#include <numeric>

namespace nanoserve {
namespace {

// Sums the rows of one logical block in one pool; `next_block` is the block to ask for ahead of
// time, or -1.
std::uint32_t sum_block(const void* pool, const KVLayout& layout, const detail::SequenceRead& read,
                        std::int64_t i, BlockId next_block, detail::SumWords sum_words) {
    const std::int64_t element = bytes_of(layout.dtype);
    const std::int64_t num_tokens = tokens_in_block(read, layout, i);
    const auto address = [&](BlockId block, std::int64_t token, std::int64_t head) -> const void* {
        return block < 0 ? nullptr
                         : static_cast<const std::byte*>(pool) +
                               layout.offset(block, token, head) * element;
    };
    const BlockId block = read.block_table[i];
    if (layout.is_dense_nhd()) {
        return sum_words(address(block, 0, 0), num_tokens * layout.token_stride * element / 4,
                         address(next_block, 0, 0));
    }
    std::uint32_t sum = 0;
    for (std::int64_t head = 0; head < layout.num_kv_heads; ++head) {
        for (std::int64_t token = 0; token < num_tokens; ++token) {
            sum += sum_words(address(block, token, head), layout.head_dim * element / 4,
                             address(next_block, token, head));
        }
    }
    return sum;
}

std::uint32_t sum_blocks(const PagedKVView& kv, const detail::SequenceRead& read, FloorOrder order,
                         detail::Share blocks, detail::SumWords sum_words) {
    std::uint32_t sum = 0;
    if (order == FloorOrder::keys_then_values) {
        for (const void* pool : {kv.k_cache, kv.v_cache}) {
            for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
                sum += sum_block(pool, kv.layout, read, i, -1, sum_words);
            }
        }
        return sum;
    }
    for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
        const bool ahead = order == FloorOrder::prefetched && i + 1 < blocks.end;
        const BlockId next_block = ahead ? read.block_table[i + 1] : -1;
        sum += sum_block(kv.k_cache, kv.layout, read, i, next_block, sum_words);
        sum += sum_block(kv.v_cache, kv.layout, read, i, next_block, sum_words);
    }
    return sum;
}

}  // namespace

std::string_view to_string(FloorOrder order) {
    switch (order) {
        case FloorOrder::keys_then_values:
            return "keys then values";
        case FloorOrder::block_by_block:
            return "block by block";
        case FloorOrder::prefetched:
            return "prefetched";
    }
    return "unknown";
}

std::uint32_t read_floor(PagedAttentionParams params, FloorOrder order, ReadContext& context) {
    char unused = 0;
    params.q = params.out = &unused;
    params.sm_scale.reset();
    validate(params);
    const KVLayout& layout = params.kv.layout;
    const std::int64_t row_bytes = layout.head_dim * bytes_of(layout.dtype);
    require(row_bytes % 4 == 0, "a row has ", row_bytes,
            " bytes; read_floor adds words of 4 bytes");

    detail::ReadState& state = context.state();
    detail::ThreadTeam& team = state.team();
    const auto sum_words = detail::sum_words(state.instruction_set());
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(team.num_threads()), 0);
    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        const auto read = detail::sequence_read(params, seq);
        team.run([&](int index) {
            const auto blocks = detail::share_of(read.num_blocks, index, team.num_threads());
            sums[static_cast<std::size_t>(index)] +=
                sum_blocks(params.kv, read, order, blocks, sum_words);
        });
    }
    return std::accumulate(sums.begin(), sums.end(), std::uint32_t{0});
}

}  // namespace nanoserve
