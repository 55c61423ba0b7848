// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// scatter_kv on a GPU: the bits of the CPU's scatter_kv, for wide and for single stores.
#include "kernels/kernel_checks.hpp"
#include "support/between_elements.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/scatter_kv.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using Catch::Matchers::Message;
using nanoserve::DType;
using nanoserve::KVLayout;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PoolOrder;

namespace {

struct NewRows {
    std::vector<float> k, v;          // [num_tokens, num_kv_heads, head_dim]
    std::vector<std::int64_t> slots;  // [num_tokens], all different
};

// Rows that reach every branch of the conversions: normal, subnormal in fp16, too large for fp16,
// infinite, zero.
NewRows make_rows(const KVLayout& layout, std::size_t num_tokens) {
    std::mt19937 random(11);
    std::uniform_real_distribution<float> exponent(-30.0f, 20.0f);
    const auto value = [&] {
        const float magnitude = std::exp2(exponent(random));
        switch (random() % 16) {
            case 0:
                return INFINITY;
            case 1:
                return -0.0f;
            default:
                return random() % 2 == 0 ? magnitude : -magnitude;
        }
    };
    NewRows rows;
    const std::size_t num_elements =
        num_tokens * static_cast<std::size_t>(layout.num_kv_heads * layout.head_dim);
    std::generate_n(std::back_inserter(rows.k), num_elements, value);
    std::generate_n(std::back_inserter(rows.v), num_elements, value);
    rows.slots.resize(static_cast<std::size_t>(layout.num_blocks * layout.block_size));
    std::iota(rows.slots.begin(), rows.slots.end(), 0);
    std::shuffle(rows.slots.begin(), rows.slots.end(), random);
    rows.slots.resize(num_tokens);
    return rows;
}

std::size_t pool_bytes(const KVLayout& layout) {
    return static_cast<std::size_t>(layout.num_blocks * layout.block_stride *
                                    bytes_of(layout.dtype));
}

// Scatters on both sides into pools full of 0xff that start `shift` bytes into their buffers.
// Pools of fp8 have a scale for each head.
void require_same_bits(const KVLayout& layout, const NewRows& rows, std::size_t shift = 0) {
    const bool is_fp8 = layout.dtype == DType::fp8_e4m3;
    const std::vector<float> heads = {0.37f, 1.0f, 2.9f};
    const DeviceBuffer device_heads(heads);
    const auto scales = [is_fp8](const float* factors) {
        return is_fp8 ? nanoserve::KVScales{.k = {0.011f, factors}, .v = {.tensor = 3.3f}}
                      : nanoserve::KVScales{};
    };
    const std::vector<std::byte> empty(pool_bytes(layout) + shift, std::byte{0xff});
    auto k = empty;
    auto v = empty;
    const auto num_tokens = std::ssize(rows.slots);
    nanoserve::scatter_kv(k.data() + shift, v.data() + shift, layout,
                          {rows.k.data(), rows.v.data(), num_tokens}, rows.slots,
                          scales(heads.data()));

    const DeviceBuffer k_device(empty), v_device(empty), k_rows(rows.k), v_rows(rows.v),
        slots(rows.slots);
    nanoserve::scatter_kv(k_device.data() + shift, v_device.data() + shift, layout,
                          {k_rows.as<float>(), v_rows.as<float>(), num_tokens},
                          slots.as<std::int64_t>(), nullptr, scales(device_heads.as<float>()));
    REQUIRE(k_device.to_host() == k);
    REQUIRE(v_device.to_host() == v);
}

KVLayout make_layout(PoolOrder order, const nanoserve::PoolShape& shape) {
    switch (order) {
        case PoolOrder::hnd:
            return hnd_layout(shape);
        case PoolOrder::interleaved:
            return interleaved_layout(shape);
        case PoolOrder::nhd:
            break;
    }
    return nhd_layout(shape);
}

}  // namespace

TEST_CASE("scatter_kv stores the bits that the CPU stores", "[kernels]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    const std::int32_t head_dim = GENERATE(1, 3, 4, 8, 20, 64, 128);
    CAPTURE(static_cast<int>(dtype), static_cast<int>(order), head_dim);
    const KVLayout layout = make_layout(order, {.dtype = dtype,
                                                .num_blocks = 5,
                                                .block_size = 7,
                                                .num_kv_heads = 3,
                                                .head_dim = head_dim});
    require_same_bits(layout, make_rows(layout, 23));
}

TEST_CASE("scatter_kv takes pools and strides that no wide store could take", "[kernels]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    KVLayout layout = nanoserve::nhd_layout(
        {.dtype = dtype, .num_blocks = 3, .block_size = 4, .num_kv_heads = 2, .head_dim = 64});
    require_same_bits(layout, make_rows(layout, 12), 4);
    layout.token_stride += 1;
    layout.block_stride = layout.token_stride * layout.block_size;
    require_same_bits(layout, make_rows(layout, 12));
}

TEST_CASE("scatter_kv skips slots outside the pool", "[kernels]") {
    needs_gpu();
    const KVLayout layout = nanoserve::nhd_layout(
        {.dtype = DType::bf16, .num_blocks = 2, .block_size = 4, .num_kv_heads = 2, .head_dim = 8});
    NewRows rows = make_rows(layout, 5);
    rows.slots = {-1, 3, 8, std::numeric_limits<std::int64_t>::max(), 0};
    const DeviceBuffer k(pool_bytes(layout)), v(pool_bytes(layout)), k_rows(rows.k), v_rows(rows.v),
        slots(rows.slots);
    nanoserve::scatter_kv(k.data(), v.data(), layout, {k_rows.as<float>(), v_rows.as<float>(), 5},
                          slots.as<std::int64_t>(), nullptr);

    std::vector<std::byte> expected(pool_bytes(layout), std::byte{0xff});
    auto expected_v = expected;
    const std::size_t row = 16;  // elements of a token
    for (const auto& [token, slot] : {std::pair{1, 3}, std::pair{4, 0}}) {
        const std::int64_t one_slot[] = {slot};
        nanoserve::scatter_kv(expected.data(), expected_v.data(), layout,
                              {rows.k.data() + token * row, rows.v.data() + token * row, 1},
                              one_slot);
    }
    CHECK(k.to_host() == expected);
    CHECK(v.to_host() == expected_v);
}

TEST_CASE("paged_attention reads what scatter_kv has stored before it on the stream", "[kernels]") {
    needs_gpu();
    nanoserve::testing::PagedCase test(
        {.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 64},
         .block_size = 16,
         .seq_lens = {41, 16},
         .dtype = DType::bf16,
         .io_dtype = DType::bf16});
    const nanoserve::PagedAttentionParams params = test.params();
    const KVLayout& layout = params.kv.layout;
    NewRows rows = make_rows(layout, 57);
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::ranges::generate(rows.k, [&] { return uniform(random); });
    std::ranges::generate(rows.v, [&] { return uniform(random); });
    rows.slots.clear();
    for (std::int64_t seq = 0; seq < params.num_seqs; ++seq) {
        for (std::int64_t t = 0; t < params.seq_lens[seq]; ++t) {
            const std::int64_t block =
                params.block_tables[seq * params.max_blocks_per_seq + t / layout.block_size];
            rows.slots.push_back(block * layout.block_size + t % layout.block_size);
        }
    }
    nanoserve::testing::DeviceCase device(params);
    const DeviceBuffer k(pool_bytes(layout)), v(pool_bytes(layout)), k_rows(rows.k), v_rows(rows.v),
        slots(rows.slots);
    nanoserve::PagedAttentionParams on_device = device.params();
    on_device.kv.k_cache = k.data();
    on_device.kv.v_cache = v.data();
    nanoserve::scatter_kv(k.data(), v.data(), layout, {k_rows.as<float>(), v_rows.as<float>(), 57},
                          slots.as<std::int64_t>(), nullptr);
    nanoserve::paged_attention(on_device, nullptr, device.status());
    const auto result = device.result();

    std::vector<std::byte> k_host(pool_bytes(layout));
    auto v_host = k_host;
    nanoserve::scatter_kv(k_host.data(), v_host.data(), layout, {rows.k.data(), rows.v.data(), 57},
                          rows.slots);
    nanoserve::PagedAttentionParams on_host = params;
    on_host.kv.k_cache = k_host.data();
    on_host.kv.v_cache = v_host.data();
    CHECK(result.status == 0);
    nanoserve::testing::require_within(result.out.data(), result.lse.data(), on_host,
                                       nanoserve::paged_decode_rounding_bounds(on_host));
}

TEST_CASE("scatter_kv on the device refuses null pointers and impossible counts", "[kernels]") {
    needs_gpu();
    const KVLayout layout =
        nanoserve::nhd_layout({.num_blocks = 2, .block_size = 2, .num_kv_heads = 1, .head_dim = 1});
    float x = 0.0f;
    const std::int64_t slot = 0;
    const auto refused = [&](void* pool, const nanoserve::KVRows& rows, const std::int64_t* slots,
                             const char* message) {
        CHECK_THROWS_MATCHES(nanoserve::scatter_kv(pool, pool, layout, rows, slots, nullptr),
                             std::invalid_argument, Message(message));
    };
    refused(nullptr, {&x, &x, 1}, &slot, "k_cache or v_cache is null");
    refused(&x, {nullptr, &x, 1}, &slot, "k or v is null for 1 tokens");
    refused(&x, {&x, &x, 1}, nullptr, "slot_mapping is null");
    refused(nanoserve::testing::between_elements(&x), {&x, &x, 1}, &slot,
            "k_cache is not a multiple of 4 bytes");
    refused(&x, {nanoserve::testing::between_elements(&x), &x, 1}, &slot,
            "k is not a multiple of 4 bytes");
    refused(&x, {&x, nanoserve::testing::between_elements(&x), 1}, &slot,
            "v is not a multiple of 4 bytes");
    refused(&x, {&x, &x, 1}, nanoserve::testing::between_elements(&slot),
            "slot_mapping is not a multiple of 8 bytes");
    refused(&x, {&x, &x, -1}, &slot, "num_tokens is -1; it must be from 0 to 2147483647");
    refused(&x, {&x, &x, std::int64_t{1} << 31}, &slot,
            "num_tokens is 2147483648; it must be from 0 to 2147483647");
    nanoserve::scatter_kv(nullptr, nullptr, layout, {}, nullptr, nullptr);  // nothing to do
    CHECK(cudaGetLastError() == cudaSuccess);
}
