// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/require.hpp>

#include <kernels/general/counting_memory.hpp>
#include <kernels/shared_heads/chunk.hpp>
#include <kernels/shared_heads/config.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>

namespace nanoserve {

/// The Memory of attend_group in the CPU twin: counts every element that a chunk brings, and
/// refuses chunks that are not the sequence's own. Borrows what it is made from.
template <class T>
class CountingChunks {
  public:
    CountingChunks(const SharedHeadsArgs& args, std::int64_t seq, std::int32_t kv_head,
                   HeadAccess& access, std::uint32_t& status)
        : memory_(args.params, seq, kv_head, access, status), args_(args), kv_head_(kv_head) {
        const KVLayout& layout = args.params.kv.layout;
        for (std::int32_t block = 0; block < layout.num_blocks; ++block) {
            for (std::int32_t slot = 0; slot < layout.block_size; ++slot) {
                const std::int64_t row = layout.offset(block, slot, kv_head);
                for (int chunk = 0; chunk < 1 << args.chunks_log2; ++chunk) {
                    const std::int64_t index = row / kElements + chunk;
                    if (index >= kNoChunk) {
                        throw std::logic_error(join_text("chunk ", index, " has no number"));
                    }
                    places_[static_cast<ChunkIndex>(index)] = {block, slot, chunk};
                }
            }
        }
    }

    [[nodiscard]] std::int32_t seq_len() const {
        return static_cast<std::int32_t>(memory_.seq_len());
    }

    /// Throws std::logic_error for an entry past the used ones.
    [[nodiscard]] BlockId block_id(std::int32_t i) const { return memory_.block_id(i); }

    /// Both throw std::logic_error for a chunk that is no part of a token's row of this KV head.
    [[nodiscard]] Chunk key_chunk(ChunkIndex index) {
        const Place place = place_of(index);
        return count(memory_.key_row(place.block, place.slot), place,
                     args_.params.kv.k_row<T>(place.block, place.slot, kv_head_));
    }
    [[nodiscard]] Chunk value_chunk(ChunkIndex index) {
        const Place place = place_of(index);
        return count(memory_.value_row(place.block, place.slot), place,
                     args_.params.kv.v_row<T>(place.block, place.slot, kv_head_));
    }

    /// Sets bits of the status word.
    void report(std::uint32_t bits) { memory_.report(bits); }

  private:
    static constexpr int kElements = kChunkBytes / static_cast<int>(sizeof(T));

    struct Place {
        BlockId block = 0;
        std::int32_t slot = 0;
        int chunk = 0;  // of the row
    };

    [[nodiscard]] Place place_of(ChunkIndex index) const {
        const auto found = places_.find(index);
        if (found == places_.end()) {
            throw std::logic_error(
                join_text("read of chunk ", index, "; it is in no row of KV head ", kv_head_));
        }
        return found->second;
    }

    [[nodiscard]] static Chunk count(typename CountingMemory<T>::Row row, const Place& place,
                                     const T* elements) {
        const int first = place.chunk * kElements;
        for (int i = 0; i < kElements; ++i) {
            (void)row[first + i];
        }
        Chunk chunk;
        std::memcpy(chunk.words, elements + first, sizeof(chunk.words));
        return chunk;
    }

    CountingMemory<T> memory_;
    const SharedHeadsArgs& args_;
    std::int32_t kv_head_;
    std::map<ChunkIndex, Place> places_;
};

}  // namespace nanoserve
