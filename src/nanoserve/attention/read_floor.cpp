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

// Tokens [begin, end) of one logical block; the next block is asked for ahead of time unless it is
// -1.
struct BlockPart {
    BlockId block = 0;
    BlockId next_block = -1;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

std::uint32_t sum_part(const void* pool, const KVLayout& layout, const BlockPart& part,
                       detail::SumWords sum_words) {
    const std::int64_t element = bytes_of(layout.dtype);
    const auto address = [&](BlockId block, std::int64_t token, std::int64_t head) -> const void* {
        return block < 0 ? nullptr
                         : static_cast<const std::byte*>(pool) +
                               layout.offset(block, token, head) * element;
    };
    if (layout.is_dense_nhd()) {
        const std::int64_t num_words = (part.end - part.begin) * layout.token_stride * element / 4;
        return sum_words(address(part.block, part.begin, 0), num_words,
                         address(part.next_block, part.begin, 0));
    }
    std::uint32_t sum = 0;
    for (std::int64_t head = 0; head < layout.num_kv_heads; ++head) {
        for (std::int64_t token = part.begin; token < part.end; ++token) {
            sum += sum_words(address(part.block, token, head), layout.head_dim * element / 4,
                             address(part.next_block, token, head));
        }
    }
    return sum;
}

// Calls action(part) for the parts that the blocks cut tokens [begin, end) of the sequence into.
template <class Action>
void for_each_part(const detail::SequenceRead& read, std::int64_t block_size, detail::Share tokens,
                   FloorOrder order, Action action) {
    for (std::int64_t t = tokens.begin; t < tokens.end;) {
        const std::int64_t i = t / block_size;
        const std::int64_t end = std::min(tokens.end, (i + 1) * block_size);
        const bool ahead = order == FloorOrder::prefetched && end < tokens.end;
        action(BlockPart{.block = read.block_table[i],
                         .next_block = ahead ? read.block_table[i + 1] : -1,
                         .begin = t - i * block_size,
                         .end = end - i * block_size});
        t = end;
    }
}

std::uint32_t sum_tokens(const PagedKVView& kv, const detail::SequenceRead& read, FloorOrder order,
                         detail::Share tokens, detail::SumWords sum_words) {
    std::uint32_t sum = 0;
    const auto add = [&](const void* pool, const BlockPart& part) {
        sum += sum_part(pool, kv.layout, part, sum_words);
    };
    const std::int64_t block_size = kv.layout.block_size;
    if (order == FloorOrder::keys_then_values) {
        for (const void* pool : {kv.k_cache, kv.v_cache}) {
            for_each_part(read, block_size, tokens, order,
                          [&](const BlockPart& part) { add(pool, part); });
        }
    } else {
        for_each_part(read, block_size, tokens, order, [&](const BlockPart& part) {
            add(kv.k_cache, part);
            add(kv.v_cache, part);
        });
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
    float unused = 0;  // validate() wants pointers, nothing follows these two
    params.q = params.out = &unused;
    params.lse = nullptr;
    params.sm_scale.reset();
    validate(params);
    require_no_rules(params.rules, "read_floor");
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
            const auto tokens = detail::share_of(read.seq_len, index, team.num_threads());
            sums[static_cast<std::size_t>(index)] +=
                sum_tokens(params.kv, read, order, tokens, sum_words);
        });
    }
    return std::accumulate(sums.begin(), sums.end(), std::uint32_t{0});
}

}  // namespace nanoserve
