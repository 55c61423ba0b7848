// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/access_report.hpp>

#include <cstdint>
#include <set>
#include <vector>

namespace nanoserve {

/// The Memory of attend_head on the CPU: counts what one query head reads of the cache, and throws
/// std::logic_error when that is not its sequence's own.
template <class T>
class CountingMemory {
  public:
    /// A row that counts the reads of its elements.
    class Row {
      public:
        Row(const T* elements, std::vector<std::int32_t>& reads, std::int64_t& num_bytes)
            : elements_(elements), reads_(&reads), num_bytes_(&num_bytes) {}

        /// Element d as float. Throws std::logic_error outside [0, head_dim).
        float operator[](int d) const;

      private:
        const T* elements_;
        std::vector<std::int32_t>* reads_;
        std::int64_t* num_bytes_;
    };

    /// Reads for `kv_head` of sequence `seq`; `access` and `status` must outlive it.
    CountingMemory(const PagedAttentionParams& params, std::int64_t seq, std::int32_t kv_head,
                   HeadAccess& access, std::uint32_t& status);

    /// As the caller says, impossible lengths included.
    [[nodiscard]] std::int64_t seq_len() const { return params_.seq_lens[seq_]; }

    /// Throws std::logic_error for an entry past the used ones.
    [[nodiscard]] BlockId block_id(std::int64_t i) const;

    /// Both throw std::logic_error for a slot that holds no visible token of the sequence.
    [[nodiscard]] Row key_row(BlockId block, std::int32_t slot);
    [[nodiscard]] Row value_row(BlockId block, std::int32_t slot);

    /// Sets bits of the status word.
    void report(std::uint32_t bits) { status_ |= bits; }

  private:
    RowReads& reads_of(BlockId block, std::int32_t slot);

    const PagedAttentionParams& params_;
    std::int64_t seq_;
    std::int32_t kv_head_;
    std::int64_t num_used_blocks_;
    std::set<std::int64_t> own_slots_;
    HeadAccess& access_;
    std::uint32_t& status_;
};

extern template class CountingMemory<float>;
extern template class CountingMemory<Fp16>;
extern template class CountingMemory<Bf16>;
extern template class CountingMemory<Fp8E4m3>;

}  // namespace nanoserve
