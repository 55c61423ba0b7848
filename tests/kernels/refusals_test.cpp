// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What launches refuse before they ask for a device, with which words: none of this needs a GPU.
// The pointers are the host's, and nothing follows them.
#include "support/between_elements.hpp"
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/async_copy.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/gather_attention.hpp>
#include <kernels/general_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/split_kv.hpp>
#include <kernels/tensor_cores.hpp>

#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

using namespace nanoserve;
using Catch::Matchers::Message;
using nanoserve::testing::between_elements;
using nanoserve::testing::PagedCase;

namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 60;  // bytes that no workspace has
constexpr AsyncCopyPlan kTwoSplits = {
    .num_stages = 1, .num_warps = 1, .heads_per_block = 1, .num_splits = 2};

alignas(16) std::byte workspace[16];

struct Reader {
    const char* name;
    void (*launch)(const PagedAttentionParams& params, std::uint32_t* status);
    bool asks_for_device = false;  // before it has looked at the size of the grid
};

const Reader kReaders[] = {
    {"general_attention",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         general_attention(params, nullptr, status);
     }},
    {"shared_heads_attention",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         shared_heads_attention(params, nullptr, status);
     }},
    {"split_kv_attention",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         split_kv_attention(params, 2, workspace, kPlenty, nullptr, status);
     }},
    {"async_copy_attention",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         async_copy_attention(params, kTwoSplits, workspace, kPlenty, nullptr, status);
     }},
    {"tensor_core_attention",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         tensor_core_attention(params, kTwoSplits, workspace, kPlenty, nullptr, status);
     }},
    {"paged_decode, by a plan",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         paged_decode(params, DecodePlan{}, nullptr, status);
     }},
    {"paged_decode",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         paged_decode(params, nullptr, status);
     },
     true},
    {"paged_attention",
     [](const PagedAttentionParams& params, std::uint32_t* status) {
         paged_attention(params, nullptr, status);
     },
     true},
};

Reader any_reader() {
    return GENERATE(from_range(std::begin(kReaders), std::end(kReaders)));
}

using LoadOnly = void (*)(const PagedAttentionParams&, std::uint32_t*, cudaStream_t);

// Every reader takes it: 8 query heads, 2 KV heads of 64, in a table of 3 blocks.
PagedCase good_case() {
    return PagedCase({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                      .block_size = 16,
                      .seq_lens = {20},
                      .dtype = DType::bf16,
                      .io_dtype = DType::bf16});
}

// Spoils a copy of `good` and expects `call` to refuse it with `message`.
template <class Call, class Spoil>
void refuses(const PagedAttentionParams& good, const Call& call, const Spoil& spoil,
             const std::string& message) {
    PagedAttentionParams params = good;
    spoil(params);
    CHECK_THROWS_MATCHES(call(params), std::invalid_argument, Message(message));
}

using P = PagedAttentionParams;

}  // namespace

TEST_CASE("every kernel refuses null pointers and mismatched sizes before it asks for a device",
          "[kernels]") {
    const Reader reader = any_reader();
    CAPTURE(reader.name);
    PagedCase test = good_case();
    const PagedAttentionParams good = test.params();
    const auto refused = [&](auto spoil, const char* message) {
        refuses(
            good, [&](const P& p) { reader.launch(p, nullptr); }, spoil, message);
    };
    refused([](P& p) { p.q = nullptr; }, "q is null");
    refused([](P& p) { p.out = nullptr; }, "out is null");
    refused([](P& p) { p.kv.k_cache = nullptr; }, "k_cache is null");
    refused([](P& p) { p.kv.v_cache = nullptr; }, "v_cache is null");
    refused([](P& p) { p.block_tables = nullptr; }, "block_tables is null");
    refused([](P& p) { p.seq_lens = nullptr; }, "seq_lens is null");
    refused([](P& p) { p.lse = between_elements(p.lse); }, "lse is not a multiple of 4 bytes");
    refused([](P& p) { p.num_q_heads = 7; },
            "num_q_heads is 7, which is no multiple of num_kv_heads 2");
    refused([](P& p) { p.kv.layout.num_kv_heads = 0; }, "num_kv_heads is 0; it must be at least 1");
    refused([](P& p) { p.kv.layout.block_size = 0; },
            "block_size is 0; it must be at least 1 token");
    refused([](P& p) { p.num_seqs = -1; }, "num_seqs is -1; it must not be negative");
    refused([](P& p) { p.sm_scale = std::numeric_limits<float>::infinity(); },
            "sm_scale is inf; it must be finite");
}

TEST_CASE("every kernel refuses a misaligned status word, and more sequences than a grid holds",
          "[kernels]") {
    const Reader reader = any_reader();
    CAPTURE(reader.name);
    if (reader.asks_for_device) {
        return;  // the same checks, behind paged_decode by a plan
    }
    PagedCase test = good_case();
    std::uint32_t status = 0;
    CHECK_THROWS_MATCHES(reader.launch(test.params(), between_elements(&status)),
                         std::invalid_argument, Message("status is not a multiple of 4 bytes"));
    refuses(
        test.params(), [&](const P& p) { reader.launch(p, nullptr); },
        [](P& p) { p.num_seqs = 268435456; },
        "num_seqs is 268435456; with 8 query heads a grid holds 268435455");
}

TEST_CASE("gather_attention refuses null pointers and takes up to 65535 sequences",
          "[kernels][gather]") {
    PagedCase test = good_case();
    const PagedAttentionParams good = test.params();
    const auto refused = [&](auto spoil, const char* message) {
        refuses(
            good, [](const P& p) { gather_attention(p, workspace, kPlenty, nullptr); }, spoil,
            message);
    };
    refused([](P& p) { p.q = nullptr; }, "q is null");
    refused([](P& p) { p.out = nullptr; }, "out is null");
    refused([](P& p) { p.kv.k_cache = nullptr; }, "k_cache is null");
    refused([](P& p) { p.kv.v_cache = nullptr; }, "v_cache is null");
    refused([](P& p) { p.block_tables = nullptr; }, "block_tables is null");
    refused([](P& p) { p.seq_lens = nullptr; }, "seq_lens is null");
    refused([](P& p) { p.num_q_heads = 7; },
            "num_q_heads is 7, which is no multiple of num_kv_heads 2");
    refused([](P& p) { p.num_seqs = 65536; },
            "num_seqs is 65536; gather_attention takes 0 to 65535");
    PagedAttentionParams most = good;
    most.num_seqs = 65535;
    CHECK(gather_workspace_bytes(most) == 2ull * 65535 * 3 * 16 * 2 * 64 * 2);
    CHECK_THROWS_MATCHES(gather_attention(good, nullptr, kPlenty, nullptr), std::invalid_argument,
                         Message("workspace is null"));
}

TEST_CASE("load_only refuses null and misaligned pointers and takes up to 65535 sequences",
          "[kernels][ceilings]") {
    const LoadOnly load_only = GENERATE(load_only_nhd, load_only_hnd, load_only_by_head);
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {20},
                    .order = load_only == load_only_hnd ? nanoserve::testing::PoolOrder::hnd
                                                        : nanoserve::testing::PoolOrder::nhd});
    const PagedAttentionParams good = test.params();
    const auto refused = [&](auto spoil, const char* message) {
        refuses(
            good, [&](const P& p) { load_only(p, nullptr, nullptr); }, spoil, message);
    };
    const char* const no_pool = "k_cache or v_cache is null";
    refused([](P& p) { p.kv.k_cache = nullptr; }, no_pool);
    refused([](P& p) { p.kv.v_cache = nullptr; }, no_pool);
    refused([](P& p) { p.block_tables = nullptr; }, "block_tables or seq_lens is null");
    refused([](P& p) { p.seq_lens = nullptr; }, "block_tables or seq_lens is null");
    const auto behind_4_bytes = [](const void* pointer) {
        return static_cast<const std::byte*>(pointer) + 4;
    };
    const char* const between_words = "k_cache and v_cache must be multiples of 16 bytes";
    refused([&](P& p) { p.kv.k_cache = behind_4_bytes(p.kv.k_cache); }, between_words);
    refused([&](P& p) { p.kv.v_cache = behind_4_bytes(p.kv.v_cache); }, between_words);
    refused([](P& p) { p.block_tables = between_elements(p.block_tables); },
            "block_tables is not a multiple of 4 bytes");
    refused([](P& p) { p.seq_lens = between_elements(p.seq_lens); },
            "seq_lens is not a multiple of 4 bytes");
    std::uint32_t checksum = 0;
    CHECK_THROWS_MATCHES(load_only(good, between_elements(&checksum), nullptr),
                         std::invalid_argument, Message("checksum is not a multiple of 4 bytes"));
    refused([](P& p) { p.num_seqs = 65536; }, "num_seqs is 65536; load_only takes 0 to 65535");
    refused([](P& p) { p.num_seqs = -1; }, "num_seqs is -1; load_only takes 0 to 65535");
    refused(
        [](P& p) {
            p.num_seqs = 65535;  // as many are taken: the pool is looked at next
            p.kv.k_cache = nullptr;
        },
        no_pool);
    refused([](P& p) { p.max_blocks_per_seq = (1 << 26) + 1; },
            "max_blocks_per_seq is 67108865; load_only takes 2^30 tokens");
    refused([](P& p) { p.max_blocks_per_seq = -1; },
            "max_blocks_per_seq is -1; load_only takes 2^30 tokens");
}

TEST_CASE("read_stream refuses null and misaligned pointers and counts of no whole words",
          "[kernels][ceilings]") {
    alignas(16) std::byte data[32] = {};
    std::uint32_t checksum = 0;
    const auto refused = [](const void* from, std::int64_t num_bytes, std::uint32_t* sum,
                            const char* message) {
        CHECK_THROWS_MATCHES(read_stream(from, num_bytes, sum, nullptr), std::invalid_argument,
                             Message(message));
    };
    refused(nullptr, 16, &checksum, "data is null");
    refused(data + 8, 16, &checksum, "data must be a multiple of 16 bytes");
    refused(data, 16, between_elements(&checksum), "checksum is not a multiple of 4 bytes");
    refused(data, 24, &checksum, "num_bytes is 24; it must be a multiple of 16");
    refused(data, -16, &checksum, "num_bytes is -16; it must be a multiple of 16");
    CHECK_NOTHROW(read_stream(nullptr, 0, nullptr, nullptr));
}
