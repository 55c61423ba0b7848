// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel the front door runs.
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <kernels/dispatch.hpp>

#include <stdexcept>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

AttentionKernel kernel_for(DType dtype, std::int32_t head_dim) {
    PagedCase test({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = head_dim},
                    .block_size = 16,
                    .seq_lens = {20},
                    .dtype = dtype,
                    .io_dtype = dtype});
    return choose_kernel(test.params());
}

}  // namespace

TEST_CASE("paged_attention runs the fastest kernel that takes the sizes") {
    CHECK(kernel_for(DType::bf16, 64) == AttentionKernel::decode);
    CHECK(kernel_for(DType::fp16, 128) == AttentionKernel::decode);
    CHECK(kernel_for(DType::fp32, 64) == AttentionKernel::shared_heads);
    CHECK(kernel_for(DType::fp32, 72) == AttentionKernel::general);
    CHECK(kernel_for(DType::bf16, 72) == AttentionKernel::general);
}

TEST_CASE("pools of fp8 go to paged_decode for 16-bit queries") {
    CaseSpec spec = {.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 64},
                     .block_size = 16,
                     .seq_lens = {20},
                     .dtype = DType::fp8_e4m3,
                     .io_dtype = DType::bf16};
    CHECK(choose_kernel(PagedCase(spec).params()) == AttentionKernel::decode);
    spec.io_dtype = DType::fp32;
    CHECK(choose_kernel(PagedCase(spec).params()) == AttentionKernel::general);
}

TEST_CASE(
    "OPEN-07: a table with room for more tokens than a kernel counts goes to the general one") {
    PagedCase test({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {20},
                    .dtype = DType::bf16,
                    .io_dtype = DType::bf16});
    PagedAttentionParams params = test.params();
    params.max_blocks_per_seq = std::int64_t{1} << 26;  // 2^30 tokens
    CHECK(choose_kernel(params) == AttentionKernel::decode);
    constexpr std::int64_t k2To59 = std::int64_t{1} << 59;  // times 16 tokens it wraps to nothing
    for (const std::int64_t room : {(std::int64_t{1} << 26) + 1, k2To59, 2 * k2To59, k2To59 + 3}) {
        params.max_blocks_per_seq = room;
        CHECK(choose_kernel(params) == AttentionKernel::general);
    }
}

TEST_CASE("windows and sinks go to paged_decode, what changes scores to the general kernel") {
    CaseSpec spec = {.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 64},
                     .block_size = 16,
                     .seq_lens = {20},
                     .dtype = DType::bf16,
                     .io_dtype = DType::bf16};
    const auto choice = [&](auto change) {
        CaseSpec changed = spec;
        change(changed);
        return choose_kernel(PagedCase(changed).params());
    };
    CHECK(choice([](CaseSpec& s) { s.sliding_window = 5; }) == AttentionKernel::decode);
    CHECK(choice([](CaseSpec& s) { s.sinks = true; }) == AttentionKernel::decode);
    CHECK(choice([](CaseSpec& s) { s.logits_soft_cap = 30.0f; }) == AttentionKernel::general);
    CHECK(choice([](CaseSpec& s) { s.alibi = true; }) == AttentionKernel::general);
    spec.dtype = spec.io_dtype = DType::fp32;
    CHECK(choice([](CaseSpec&) {}) == AttentionKernel::shared_heads);
    CHECK(choice([](CaseSpec& s) { s.sliding_window = 5; }) == AttentionKernel::general);
    CHECK(choice([](CaseSpec& s) { s.sinks = true; }) == AttentionKernel::general);
}

TEST_CASE("no kernel is chosen for sizes that cannot be") {
    PagedCase test({.seq_lens = {4}});
    PagedAttentionParams params = test.params();
    params.num_q_heads = 0;
    CHECK_THROWS_AS(choose_kernel(params), std::invalid_argument);
}
