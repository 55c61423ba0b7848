// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/out_of_memory.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

namespace nanoserve {
namespace {

// The next multiple of a cache line.
constexpr std::int64_t to_whole_lines(std::int64_t bytes) {
    constexpr std::int64_t kLine = AlignedBuffer::kAlignment;
    return (bytes + kLine - 1) / kLine * kLine;
}

// Bytes of the pools of all layers, K and V; formed in 128 bits so that an impossible size is
// refused, not wrapped.
std::size_t pool_bytes(std::int32_t num_layers, const KVLayout& layout) {
    require(num_layers > 0, "num_layers is ", num_layers, "; it must be at least 1");
    validate(layout);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    __extension__ using Wide = __int128;
    const Wide bytes =
        Wide{layout.num_blocks} * layout.block_stride * bytes_of(layout.dtype) * num_layers;
    require(bytes <= kMost, "num_blocks ", layout.num_blocks, " x block_stride ",
            layout.block_stride, " x num_layers ", num_layers, " exceeds 2^61 bytes");
    return 2 * static_cast<std::size_t>(to_whole_lines(static_cast<std::int64_t>(bytes)));
}

// One count for all caches of the process: the id of another one is noticed too.
SeqId next_seq_id() {
    static std::atomic<std::int64_t> count = 0;
    return SeqId{count.fetch_add(1, std::memory_order_relaxed)};
}

}  // namespace

std::string to_string(const WriteResult& result) {
    if (result.ok()) {
        return "ok";
    }
    return join_text("out of blocks: the write needs ", result.blocks_needed, ", free are ",
                     result.blocks_free);
}

PagedKVCache::PagedKVCache(std::int32_t num_layers, const KVLayout& layout) try
    : layout_(layout),
      kv_(pool_bytes(num_layers, layout)),
      pool_(layout.num_blocks),
      scales_(static_cast<std::size_t>(num_layers)) {
} catch (const std::bad_alloc&) {
    constexpr double kIdBytes = 2 * sizeof(BlockId);  // its place on the free list, and its holders
    throw OutOfMemory(
        static_cast<double>(pool_bytes(num_layers, layout)) + kIdBytes * layout.num_blocks +
            double{sizeof(LayerScales)} * num_layers,
        join_text("a cache of ", num_layers, " layers x ", layout.num_blocks, " blocks"));
}

PagedKVCache::OwnScale::OwnScale(const KVScale& scale, std::int32_t num_kv_heads)
    : tensor(scale.tensor) {
    if (scale.heads != nullptr) {
        heads.assign(scale.heads, scale.heads + num_kv_heads);
    }
}

void PagedKVCache::set_scales(std::int32_t layer, const KVScales& scales) {
    require_layer(layer);
    validate(scales, layout_.dtype, layout_.num_kv_heads);
    const auto index = static_cast<std::size_t>(layer);
    for (const auto& [id, sequence] : sequences_) {
        require(sequence.num_tokens[index] == 0, "sequence ", static_cast<std::int64_t>(id),
                " holds ", sequence.num_tokens[index], " tokens of layer ", layer,
                "; scales are set before the first");
    }
    scales_[index] = {OwnScale(scales.k, layout_.num_kv_heads),
                      OwnScale(scales.v, layout_.num_kv_heads)};
}

SeqId PagedKVCache::add_sequence() {
    const SeqId id = next_seq_id();
    sequences_.emplace(id, Sequence{{}, std::vector<std::int64_t>(scales_.size(), 0)});
    return id;
}

WriteResult PagedKVCache::prefill(SeqId seq, std::int32_t layer, const KVRows& rows) {
    return write(seq, layer, rows);
}

WriteResult PagedKVCache::append(SeqId seq, std::int32_t layer, const float* k, const float* v) {
    return write(seq, layer, {.k = k, .v = v, .num_tokens = 1});
}

bool PagedKVCache::can_append(SeqId seq, std::int32_t layer, std::int64_t num_tokens) const {
    require_layer(layer);
    return plan_write(find(seq), layer, num_tokens).blocks_needed() <= pool_.num_free();
}

SeqId PagedKVCache::fork(SeqId seq) {
    const SeqId id = next_seq_id();
    const auto [child, inserted] = sequences_.emplace(id, find(seq));
    for (const BlockId block : child->second.block_table) {
        pool_.retain(block);
    }
    return id;
}

void PagedKVCache::free(SeqId seq) {
    for (const BlockId block : find(seq).block_table) {
        pool_.release(block);
    }
    sequences_.erase(seq);
}

std::int64_t PagedKVCache::seq_len(SeqId seq, std::int32_t layer) const {
    require_layer(layer);
    return find(seq).num_tokens[static_cast<std::size_t>(layer)];
}

std::span<const BlockId> PagedKVCache::block_table(SeqId seq) const {
    return find(seq).block_table;
}

BlockTables PagedKVCache::batch(std::span<const SeqId> seqs, std::int32_t layer) const {
    require_layer(layer);
    BlockTables tables;
    for (const SeqId seq : seqs) {
        tables.seq_lens.push_back(static_cast<std::int32_t>(seq_len(seq, layer)));
        tables.max_blocks_per_seq =
            std::max(tables.max_blocks_per_seq, std::ssize(block_table(seq)));
    }
    for (const SeqId seq : seqs) {
        const auto table = block_table(seq);
        tables.block_tables.insert(tables.block_tables.end(), table.begin(), table.end());
        const auto padding = static_cast<std::size_t>(tables.max_blocks_per_seq) - table.size();
        tables.block_tables.insert(tables.block_tables.end(), padding, BlockTables::kNoBlock);
    }
    return tables;
}

PagedKVView PagedKVCache::view(std::int32_t layer) const {
    require_layer(layer);
    return {.k_cache = kv_.data() + k_offset_bytes(layer),
            .v_cache = kv_.data() + v_offset_bytes(layer),
            .layout = layout_,
            .scales = scales_of(layer)};
}

// The one write: plan, grow the table, scatter K and V. Nothing changes before all that can fail
// has succeeded.
WriteResult PagedKVCache::write(SeqId seq, std::int32_t layer, const KVRows& rows) {
    require_layer(layer);
    require(rows.num_tokens <= 0 || (rows.k != nullptr && rows.v != nullptr), "k or v is null for ",
            rows.num_tokens, " tokens");
    require_aligned("k", rows.k, sizeof *rows.k);
    require_aligned("v", rows.v, sizeof *rows.v);
    Sequence& sequence = find(seq);
    const WritePlan plan = plan_write(sequence, layer, rows.num_tokens);
    const WriteResult result{.blocks_needed = plan.blocks_needed(),
                             .blocks_free = pool_.num_free()};
    if (!result) {
        return result;
    }
    std::vector<std::int64_t> slot_mapping(static_cast<std::size_t>(rows.num_tokens));
    grow_table(sequence, plan);
    for (std::int64_t token = plan.begin; token < plan.end; ++token) {
        const BlockId block =
            sequence.block_table[static_cast<std::size_t>(token / layout_.block_size)];
        slot_mapping[static_cast<std::size_t>(token - plan.begin)] =
            std::int64_t{block} * layout_.block_size + token % layout_.block_size;
    }
    scatter_kv(kv_.data() + k_offset_bytes(layer), kv_.data() + v_offset_bytes(layer), layout_,
               rows, slot_mapping, scales_of(layer));
    sequence.num_tokens[static_cast<std::size_t>(layer)] = plan.end;
    return result;
}

PagedKVCache::WritePlan PagedKVCache::plan_write(const Sequence& sequence, std::int32_t layer,
                                                 std::int64_t num_tokens) const {
    constexpr std::int64_t kMaxTokens =
        std::numeric_limits<std::int32_t>::max();  // seq_lens are int32
    WritePlan plan;
    plan.begin = sequence.num_tokens[static_cast<std::size_t>(layer)];
    require(num_tokens >= 0, "num_tokens is ", num_tokens, "; it must not be negative");
    require(num_tokens <= kMaxTokens - plan.begin, "num_tokens is ", num_tokens,
            "; the sequence holds ", plan.begin, " and can hold ", kMaxTokens);
    plan.end = plan.begin + num_tokens;
    const auto first = plan.begin / layout_.block_size;
    const auto last = blocks_needed(plan.end, layout_.block_size);
    const auto table_size = std::ssize(sequence.block_table);
    for (std::int64_t i = first; num_tokens > 0 && i < std::min(last, table_size); ++i) {
        const auto index = static_cast<std::size_t>(i);
        if (pool_.ref_count(sequence.block_table[index]) > 1) {
            plan.shared.push_back(index);
        }
    }
    plan.num_new = std::max<std::int64_t>(0, last - table_size);
    return plan;
}

// Copy-on-write for shared blocks, then new blocks at the end. The pool holds enough of them:
// allocate() can't fail.
void PagedKVCache::grow_table(Sequence& sequence, const WritePlan& plan) {
    auto& table = sequence.block_table;
    const auto size = table.size();
    table.resize(size + static_cast<std::size_t>(plan.num_new));  // may throw, so it comes first
    for (const std::size_t index : plan.shared) {
        const BlockId copy = pool_.allocate().value();
        copy_block(table[index], copy);
        pool_.release(table[index]);
        table[index] = copy;
    }
    std::generate(table.begin() + static_cast<std::ptrdiff_t>(size), table.end(),
                  [this] { return pool_.allocate().value(); });
}

void PagedKVCache::copy_block(BlockId from, BlockId to) {
    const std::int64_t block_bytes = layout_.block_stride * bytes_of(layout_.dtype);
    for (std::int32_t layer = 0; layer < num_layers(); ++layer) {
        for (const std::int64_t offset : {k_offset_bytes(layer), v_offset_bytes(layer)}) {
            std::byte* pool = kv_.data() + offset;
            std::memcpy(pool + to * block_bytes, pool + from * block_bytes,
                        static_cast<std::size_t>(block_bytes));
        }
    }
}

const PagedKVCache::Sequence& PagedKVCache::find(SeqId seq) const {
    const auto found = sequences_.find(seq);
    require(found != sequences_.end(), "sequence ", static_cast<std::int64_t>(seq),
            " is not in the cache (freed already, or another cache's?)");
    return found->second;
}

PagedKVCache::Sequence& PagedKVCache::find(SeqId seq) {
    return const_cast<Sequence&>(std::as_const(*this).find(seq));
}

void PagedKVCache::require_layer(std::int32_t layer) const {
    require(layer >= 0 && layer < num_layers(), "layer is ", layer, "; the cache has ",
            num_layers());
}

KVScales PagedKVCache::scales_of(std::int32_t layer) const {
    const LayerScales& scales = scales_[static_cast<std::size_t>(layer)];
    return {.k = scales.k.view(), .v = scales.v.view()};
}

std::int64_t PagedKVCache::k_offset_bytes(std::int32_t layer) const {
    return std::int64_t{layer} * layout_.num_blocks * layout_.block_stride *
           bytes_of(layout_.dtype);
}

std::int64_t PagedKVCache::v_offset_bytes(std::int32_t layer) const {
    return to_whole_lines(k_offset_bytes(num_layers())) + k_offset_bytes(layer);
}

}  // namespace nanoserve
