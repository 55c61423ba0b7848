// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the tests of the kernels and those of their CPU twins have in common.
#pragma once

#include "support/paged_case.hpp"

#include <nanoserve/attention/detail/element_at.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/general/access_report.hpp>
#include <kernels/general/rounding_bounds.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace nanoserve::testing {

/// Requires that `out` and `lse`, made from `params`, are the oracle's within `bounds`. All
/// pointers are host pointers.
inline void require_within(const void* out, const float* lse, const PagedAttentionParams& params,
                           const RoundingBounds& bounds) {
    const OracleResult oracle = attention_oracle(params);
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        const double element =
            detail::element_at(out, params.io_dtype, static_cast<std::int64_t>(i));
        if (!(std::abs(element - oracle.out[i]) <= bounds.out)) {
            CAPTURE(i);
            REQUIRE_THAT(element, Catch::Matchers::WithinAbs(oracle.out[i], bounds.out));
        }
    }
    for (std::size_t i = 0; i < oracle.lse.size(); ++i) {
        CAPTURE(i);
        if (std::isinf(oracle.lse[i])) {
            REQUIRE(lse[i] == -INFINITY);
        } else {
            REQUIRE_THAT(double{lse[i]}, Catch::Matchers::WithinAbs(oracle.lse[i], bounds.lse));
        }
    }
    REQUIRE(!oracle.lse.empty());
}

/// The same within what rounding explains of general_attention and its twin.
inline void require_close(const void* out, const float* lse, const PagedAttentionParams& params) {
    require_within(out, lse, params, paged_attention_rounding_bounds(params));
}

/// Times that each slot of the pool holds a visible token of the sequence.
inline std::map<std::int64_t, std::int32_t> own_slots(const PagedAttentionParams& p,
                                                      std::int64_t seq) {
    std::map<std::int64_t, std::int32_t> slots;
    const std::int32_t block_size = p.kv.layout.block_size;
    for (std::int64_t t = p.rules.first_token(p.seq_lens[seq]); t < p.seq_lens[seq]; ++t) {
        const std::int64_t block = p.block_tables[seq * p.max_blocks_per_seq + t / block_size];
        ++slots[block * block_size + t % block_size];
    }
    return slots;
}

/// Requires that every head of the report has read every element of K and of V of its sequence's
/// visible tokens `times` times for each time that it stands in the table, and nothing else. `p`
/// has valid tables.
inline void require_each_byte(const AccessReport& report, const PagedAttentionParams& p,
                              std::int32_t times) {
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        const auto slots = own_slots(p, seq);
        const std::int64_t row_bytes = p.kv.layout.head_dim * bytes_of(p.kv.layout.dtype);
        const std::int64_t visible = p.seq_lens[seq] - p.rules.first_token(p.seq_lens[seq]);
        for (std::int32_t head = 0; head < report.num_q_heads; ++head) {
            CAPTURE(seq, head);
            const HeadAccess& access = report.at(seq, head);
            REQUIRE(access.k_bytes == times * visible * row_bytes);
            REQUIRE(access.v_bytes == times * visible * row_bytes);
            REQUIRE(access.rows.size() == slots.size());
            for (const auto& [slot, reads] : access.rows) {
                const std::vector<std::int32_t> expected(
                    static_cast<std::size_t>(p.kv.layout.head_dim), times * slots.at(slot));
                REQUIRE(reads.k == expected);
                REQUIRE(reads.v == expected);
            }
        }
    }
}

/// The same once.
inline void require_each_byte_once(const AccessReport& report, const PagedAttentionParams& p) {
    require_each_byte(report, p, 1);
}

/// The tables without the used entries that lie outside the pool, and without their tokens.
inline BlockTables without_absent_blocks(const BlockTables& tables, const KVLayout& layout) {
    BlockTables rest = {
        .block_tables = {}, .seq_lens = {}, .max_blocks_per_seq = tables.max_blocks_per_seq};
    for (std::int64_t seq = 0; seq < tables.num_seqs(); ++seq) {
        const std::int32_t seq_len = tables.seq_lens[static_cast<std::size_t>(seq)];
        std::vector<BlockId> row;
        std::int32_t visible = 0;
        for (std::int64_t i = 0; i < blocks_needed(seq_len, layout.block_size); ++i) {
            const BlockId id =
                tables.block_tables[static_cast<std::size_t>(seq * tables.max_blocks_per_seq + i)];
            if (id >= 0 && id < layout.num_blocks) {
                row.push_back(id);
                visible += static_cast<std::int32_t>(
                    std::min<std::int64_t>(layout.block_size, seq_len - i * layout.block_size));
            }
        }
        row.resize(static_cast<std::size_t>(tables.max_blocks_per_seq), BlockTables::kNoBlock);
        rest.block_tables.insert(rest.block_tables.end(), row.begin(), row.end());
        rest.seq_lens.push_back(visible);
    }
    return rest;
}

}  // namespace nanoserve::testing
