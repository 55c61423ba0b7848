// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/general/counting_memory.hpp>

#include <algorithm>
#include <stdexcept>

namespace nanoserve {
namespace {

template <class... Parts>
void require_own(bool own, const Parts&... parts) {
    if (!own) {
        throw std::logic_error(join_text(parts...));
    }
}

}  // namespace

template <class T>
float CountingMemory<T>::Row::operator[](int d) const {
    require_own(d >= 0 && d < std::ssize(*reads_), "read of element ", d, "; a row has ",
                reads_->size());
    ++(*reads_)[static_cast<std::size_t>(d)];
    *num_bytes_ += static_cast<std::int64_t>(sizeof(T));
    return to_float(elements_[d]);
}

template <class T>
CountingMemory<T>::CountingMemory(const PagedAttentionParams& params, std::int64_t seq,
                                  std::int32_t kv_head, HeadAccess& access, std::uint32_t& status)
    : params_(params), seq_(seq), kv_head_(kv_head), access_(access), status_(status) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t len = std::clamp<std::int64_t>(params.seq_lens[seq], 0, params.max_tokens());
    num_used_blocks_ = blocks_needed(len, layout.block_size);
    for (std::int64_t t = params.rules.first_token(len); t < len; ++t) {
        const std::int64_t block = block_id(t / layout.block_size);
        if (block >= 0 && block < layout.num_blocks) {
            own_slots_.insert(block * layout.block_size + t % layout.block_size);
        }
    }
}

template <class T>
BlockId CountingMemory<T>::block_id(std::int64_t i) const {
    require_own(i >= 0 && i < num_used_blocks_, "read of table entry ", i, "; sequence ", seq_,
                " uses ", num_used_blocks_);
    return params_.block_tables[seq_ * params_.max_blocks_per_seq + i];
}

template <class T>
auto CountingMemory<T>::key_row(BlockId block, std::int32_t slot) -> Row {
    return {params_.kv.k_row<T>(block, slot, kv_head_), reads_of(block, slot).k, access_.k_bytes};
}

template <class T>
auto CountingMemory<T>::value_row(BlockId block, std::int32_t slot) -> Row {
    return {params_.kv.v_row<T>(block, slot, kv_head_), reads_of(block, slot).v, access_.v_bytes};
}

template <class T>
RowReads& CountingMemory<T>::reads_of(BlockId block, std::int32_t slot) {
    const KVLayout& layout = params_.kv.layout;
    const std::int64_t flat = std::int64_t{block} * layout.block_size + slot;
    require_own(slot >= 0 && slot < layout.block_size && own_slots_.contains(flat), "read of slot ",
                slot, " in block ", block, "; it holds no visible token of sequence ", seq_);
    RowReads& reads = access_.rows[flat];
    reads.k.resize(static_cast<std::size_t>(layout.head_dim));
    reads.v.resize(static_cast<std::size_t>(layout.head_dim));
    return reads;
}

template class CountingMemory<float>;
template class CountingMemory<Fp16>;
template class CountingMemory<Bf16>;
template class CountingMemory<Fp8E4m3>;

}  // namespace nanoserve
