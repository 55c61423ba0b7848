// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What a read refuses, and the oracle, with which words; each refusal leaves the output untouched.
#include "support/paged_case.hpp"

#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/streaming_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

using Catch::Matchers::Message;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::PagedCase;

namespace {

void refused(const std::function<void(PagedCase&, PagedAttentionParams&)>& spoil,
             const char* message) {
    PagedCase test({.block_size = 16, .seq_lens = {20}});
    PagedAttentionParams params = test.params();
    spoil(test, params);
    CHECK_THROWS_MATCHES(nanoserve::gather_read(params), std::invalid_argument, Message(message));
    CHECK_THROWS_MATCHES(nanoserve::paged_attention_reference(params), std::invalid_argument,
                         Message(message));
    CHECK_THROWS_MATCHES(nanoserve::streaming_read(params), std::invalid_argument,
                         Message(message));
    if (params.out != nullptr) {  // which the oracle doesn't need
        CHECK_THROWS_MATCHES(nanoserve::attention_oracle(params), std::invalid_argument,
                             Message(message));
    }
    for (const float value : test.out_floats()) {
        REQUIRE(std::isnan(value));
    }
}

}  // namespace

TEST_CASE("OPEN-08: a used table entry outside the pool is refused by its place", "[attention]") {
    refused([](PagedCase& test, auto&) { test.tables().block_tables[1] = -1; },
            "block_tables[0, 1] is -1; the pool has 5 blocks");
    refused([](PagedCase& test, auto&) { test.tables().block_tables[1] = 5; },
            "block_tables[0, 1] is 5; the pool has 5 blocks");
}

TEST_CASE("a length that the table can't hold is refused", "[attention]") {
    refused([](PagedCase& test, auto&) { test.tables().seq_lens[0] = 49; },
            "seq_lens[0] is 49; the table holds 3 blocks of 16 tokens");
    refused([](PagedCase& test, auto&) { test.tables().seq_lens[0] = -1; },
            "seq_lens[0] is -1; the table holds 3 blocks of 16 tokens");
}

TEST_CASE("impossible sizes, strides and scales are refused", "[attention]") {
    refused([](auto&, PagedAttentionParams& p) { p.num_q_heads = 7; },
            "num_q_heads is 7, which is no multiple of num_kv_heads 2");
    refused([](auto&, PagedAttentionParams& p) { p.kv.layout.block_size = 0; },
            "block_size is 0; it must be at least 1 token");
    refused([](auto&, PagedAttentionParams& p) { p.kv.layout.token_stride = 15; },
            "token_stride is 15; a row has head_dim 16 elements");
    refused([](auto&, PagedAttentionParams& p) { p.q_stride = 127; },
            "q_stride is 127; a query has 128 elements");
    refused([](auto&, PagedAttentionParams& p) { p.sm_scale = INFINITY; },
            "sm_scale is inf; it must be finite");
    refused([](auto&, PagedAttentionParams& p) { p.sm_scale = std::nanf(""); },
            "sm_scale is nan; it must be finite");
    refused([](auto&, PagedAttentionParams& p) { p.sm_scale = -3e38f; },
            "sm_scale is -3e+38; it can be at most 2.26855e+38 in magnitude");
    refused([](auto&, PagedAttentionParams& p) { p.num_seqs = -1; },
            "num_seqs is -1; it must not be negative");
}

TEST_CASE("null pointers are refused by name", "[attention]") {
    refused([](auto&, PagedAttentionParams& p) { p.q = nullptr; }, "q is null");
    refused([](auto&, PagedAttentionParams& p) { p.out = nullptr; }, "out is null");
    refused([](auto&, PagedAttentionParams& p) { p.kv.k_cache = nullptr; }, "k_cache is null");
    refused([](auto&, PagedAttentionParams& p) { p.kv.v_cache = nullptr; }, "v_cache is null");
    refused([](auto&, PagedAttentionParams& p) { p.seq_lens = nullptr; }, "seq_lens is null");
    refused([](auto&, PagedAttentionParams& p) { p.block_tables = nullptr; },
            "block_tables is null");
}

TEST_CASE("a pointer between two elements is refused by name", "[attention]") {
    // Never followed: one byte or two behind a good address.
    const auto behind = [](const auto* pointer, std::uintptr_t num_bytes) {
        return reinterpret_cast<decltype(pointer)>(reinterpret_cast<std::uintptr_t>(pointer) +
                                                   num_bytes);
    };
    refused([&](auto&, PagedAttentionParams& p) { p.q = behind(p.q, 2); },
            "q is not a multiple of 4 bytes");
    refused([&](auto&, PagedAttentionParams& p) { p.out = const_cast<void*>(behind(p.out, 2)); },
            "out is not a multiple of 4 bytes");
    refused([&](auto&, PagedAttentionParams& p) { p.kv.k_cache = behind(p.kv.k_cache, 1); },
            "k_cache is not a multiple of 4 bytes");
    refused([&](auto&, PagedAttentionParams& p) { p.kv.v_cache = behind(p.kv.v_cache, 2); },
            "v_cache is not a multiple of 4 bytes");
    refused([&](auto&, PagedAttentionParams& p) { p.seq_lens = behind(p.seq_lens, 2); },
            "seq_lens is not a multiple of 4 bytes");
    refused([&](auto&, PagedAttentionParams& p) { p.block_tables = behind(p.block_tables, 1); },
            "block_tables is not a multiple of 4 bytes");
    refused([&](auto&, PagedAttentionParams& p) { p.lse = const_cast<float*>(behind(p.lse, 2)); },
            "lse is not a multiple of 4 bytes");
}

TEST_CASE("every sequence of the batch is checked", "[attention]") {
    PagedCase test({.block_size = 4, .seq_lens = {3, 0, 6}});
    test.tables().block_tables[static_cast<std::size_t>(2 * test.tables().max_blocks_per_seq + 1)] =
        99;
    CHECK_THROWS_MATCHES(nanoserve::gather_read(test.params()), std::invalid_argument,
                         Message("block_tables[2, 1] is 99; the pool has 6 blocks"));
}

TEST_CASE("sizes at the edge of 64 bits are compared, not wrapped", "[attention]") {
    refused([](auto&, PagedAttentionParams& p) { p.max_blocks_per_seq = -1; },
            "max_blocks_per_seq is -1; it must not be negative");
    refused([](auto&, PagedAttentionParams& p) { p.io_dtype = static_cast<nanoserve::DType>(7); },
            "io_dtype 7 is none of fp32, fp16, bf16");
    PagedCase test({.seq_lens = {9}});
    PagedAttentionParams params = test.params();
    params.max_blocks_per_seq = (std::int64_t{1} << 60) - 1;  // one sequence: the row is not left
    CHECK_NOTHROW(nanoserve::gather_read(params));
}

TEST_CASE("OPEN-07: arrays whose rows would wrap 64 bits are refused, of several sequences",
          "[attention]") {
    constexpr std::int64_t kMost = std::int64_t{1} << 47;  // twice that is 2^48
    PagedCase test({.seq_lens = {9, 9}});
    const auto with = [&](auto change) {
        PagedAttentionParams params = test.params();
        change(params);
        return params;
    };
    CHECK_NOTHROW(validate_sizes(with([](PagedAttentionParams& p) { p.q_stride = kMost; })));
    CHECK_NOTHROW(
        validate_sizes(with([](PagedAttentionParams& p) { p.max_blocks_per_seq = kMost; })));
    CHECK_THROWS_MATCHES(
        validate_sizes(with([](PagedAttentionParams& p) { p.q_stride = kMost + 1; })),
        std::invalid_argument,
        Message("q or out of 2 sequences, 140737488355329 elements apart, has more than 2^48"));
    CHECK_THROWS_MATCHES(
        validate_sizes(with([](PagedAttentionParams& p) { p.max_blocks_per_seq = kMost + 1; })),
        std::invalid_argument,
        Message("max_blocks_per_seq is 140737488355329; 2 sequences can have at most "
                "140737488355328"));
    CHECK_THROWS_AS(
        validate_sizes(with([](PagedAttentionParams& p) { p.num_seqs = std::int64_t{1} << 60; })),
        std::invalid_argument);
}

TEST_CASE("OPEN-07: a table has room for no more tokens than a length can count", "[attention]") {
    PagedCase test({.block_size = 16, .seq_lens = {9}});
    PagedAttentionParams params = test.params();
    const auto max_tokens = [&](std::int64_t num_blocks) {
        params.max_blocks_per_seq = num_blocks;
        return params.max_tokens();
    };
    CHECK(max_tokens(0) == 0);
    CHECK(max_tokens(3) == 48);
    CHECK(max_tokens((1 << 27) - 1) == 2147483632);
    CHECK(max_tokens(1 << 27) == 2147483647);
    CHECK(max_tokens(std::int64_t{1} << 60) == 2147483647);
}

TEST_CASE("an empty batch is a read of nothing", "[attention]") {
    PagedCase test({.seq_lens = {3}});
    PagedAttentionParams params = test.params();
    params.num_seqs = 0;
    params.q = nullptr;
    CHECK_NOTHROW(nanoserve::gather_read(params));
    CHECK_NOTHROW(nanoserve::paged_attention_reference(params));
    CHECK(std::isnan(test.out_floats().front()));
}

TEST_CASE("a number of threads outside 1..1024 is refused", "[attention]") {
    CHECK_THROWS_MATCHES(nanoserve::ReadContext({.num_threads = 0}), std::invalid_argument,
                         Message("num_threads is 0; it must be from 1 to 1024"));
    CHECK_THROWS_AS(nanoserve::ReadContext({.num_threads = 1025}), std::invalid_argument);
    CHECK_THROWS_AS(
        nanoserve::ReadContext({.instruction_set = static_cast<nanoserve::InstructionSet>(77)}),
        std::invalid_argument);
}

TEST_CASE("a context that was moved from is refused by a read", "[attention]") {
    PagedCase test({.seq_lens = {3}});
    const PagedAttentionParams params = test.params();
    nanoserve::ReadContext context;
    nanoserve::ReadContext taken = std::move(context);
    // NOLINTBEGIN(bugprone-use-after-move): this is what is tested
    const auto refused = Message("the ReadContext was moved from");
    CHECK_THROWS_MATCHES(nanoserve::gather_read(params, context), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(nanoserve::paged_attention_reference(params, context),
                         std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(nanoserve::streaming_read(params, 1, context), std::invalid_argument,
                         refused);
    // NOLINTEND(bugprone-use-after-move)
    CHECK(std::isnan(test.out_floats().front()));
    CHECK_NOTHROW(nanoserve::gather_read(params, taken));
}
