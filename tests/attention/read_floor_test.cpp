// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/paged_case.hpp"

#include <nanoserve/attention/read_floor.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <bit>
#include <cstring>
#include <stdexcept>

using nanoserve::DType;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;

namespace {

// The same sum, word by word through the table.
std::uint32_t sum_of_words(const nanoserve::PagedAttentionParams& p) {
    const auto& layout = p.kv.layout;
    const std::int64_t words_per_row = layout.head_dim * nanoserve::bytes_of(layout.dtype) / 4;
    std::uint32_t sum = 0;
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        for (std::int64_t t = 0; t < p.seq_lens[seq]; ++t) {
            const auto block = p.block_tables[seq * p.max_blocks_per_seq + t / layout.block_size];
            for (std::int64_t h = 0; h < layout.num_kv_heads; ++h) {
                for (const void* pool : {p.kv.k_cache, p.kv.v_cache}) {
                    const auto* row = static_cast<const std::byte*>(pool) +
                                      layout.offset(block, t % layout.block_size, h) *
                                          nanoserve::bytes_of(layout.dtype);
                    for (std::int64_t i = 0; i < words_per_row; ++i) {
                        std::uint32_t word = 0;
                        std::memcpy(&word, row + i * 4, 4);
                        sum += word;
                    }
                }
            }
        }
    }
    return sum;
}

}  // namespace

TEST_CASE(
    "the read floor loads exactly the rows of the history, in every order and on every instruction "
    "set",
    "[attention]") {
    const auto floor_order = GENERATE(from_range(nanoserve::kFloorOrders));
    const auto set = GENERATE(from_range(nanoserve::available_instruction_sets()));
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    const DType dtype = GENERATE(DType::fp32, DType::bf16);
    const int num_threads = GENERATE(1, 3);
    PagedCase test({.shape = {.num_q_heads = 3, .num_kv_heads = 3, .head_dim = 22},
                    .block_size = 7,
                    .seq_lens = {0, 1, 50},
                    .dtype = dtype,
                    .order = order});
    const auto params = test.params();
    nanoserve::ReadContext context({.num_threads = num_threads, .instruction_set = set});
    CHECK(nanoserve::read_floor(params, floor_order, context) == sum_of_words(params));
}

TEST_CASE("the read floor needs neither query nor output, and rows of whole words", "[attention]") {
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 3},
                    .seq_lens = {5},
                    .dtype = DType::bf16});
    auto params = test.params();
    params.q = params.out = nullptr;
    CHECK_THROWS_AS(nanoserve::read_floor(params, nanoserve::FloorOrder::prefetched),
                    std::invalid_argument);
    PagedCase even({.seq_lens = {5}});
    params = even.params();
    params.q = params.out = nullptr;
    CHECK(nanoserve::read_floor(params, nanoserve::FloorOrder::prefetched) == sum_of_words(params));
}
