// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Pools of fp8: how rows become elements, and which scales there can be.
#include <nanoserve/cache/kv_scales.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>
#include <nanoserve/cache/scatter_kv.hpp>
#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

using Catch::Matchers::Message;
using namespace nanoserve;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

KVLayout fp8_layout() {
    return nhd_layout({.dtype = DType::fp8_e4m3,
                       .num_blocks = 3,
                       .block_size = 2,
                       .num_kv_heads = 2,
                       .head_dim = 3});
}

void refused(const KVScales& scales, DType dtype, const char* message) {
    CHECK_THROWS_MATCHES(validate(scales, dtype, 2), std::invalid_argument, Message(message));
}

}  // namespace

TEST_CASE("a scale is finite and positive, of the pool and of every head", "[cache]") {
    for (const auto& [value, text] :
         {std::pair{0.0f, "0"}, std::pair{-1.0f, "-1"}, std::pair{INFINITY, "inf"}}) {
        const std::string limit = std::string(text) + "; it must be finite and positive";
        refused({.k = {.tensor = value}}, DType::fp8_e4m3, ("scales.k.tensor is " + limit).c_str());
        refused({.v = {.tensor = value}}, DType::fp8_e4m3, ("scales.v.tensor is " + limit).c_str());
        const std::array heads = {1.0f, value};
        refused({.k = {.heads = heads.data()}}, DType::fp8_e4m3,
                ("scales.k.heads[1] is " + limit).c_str());
        refused({.v = {.heads = heads.data()}}, DType::fp8_e4m3,
                ("scales.v.heads[1] is " + limit).c_str());
    }
    CHECK_THROWS_AS(validate({.k = {.tensor = kNaN}}, DType::fp8_e4m3, 2), std::invalid_argument);
    const std::array heads = {0.5f, 2.0f};
    CHECK_NOTHROW(
        validate({.k = {3.0f, heads.data()}, .v = {.tensor = 1e-30f}}, DType::fp8_e4m3, 2));
}

TEST_CASE("the product of a pool's scale and a head's must be a scale as well", "[cache]") {
    const std::array large = {1.0f, 1e30f};
    refused({.k = {1e30f, large.data()}}, DType::fp8_e4m3,
            "scales.k.tensor * scales.k.heads[1] is inf; it must be finite and positive");
    const std::array small = {1e-30f, 1.0f};
    refused({.v = {1e-30f, small.data()}}, DType::fp8_e4m3,
            "scales.v.tensor * scales.v.heads[0] is 0; it must be finite and positive");
}

TEST_CASE("only pools of fp8 have scales", "[cache]") {
    const std::array heads = {1.0f, 1.0f};
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
        const std::string rest =
            " is set for a pool of " + std::string(to_string(dtype)) + "; only fp8_e4m3 has scales";
        refused({.k = {.tensor = 2.0f}}, dtype, ("scales.k" + rest).c_str());
        refused({.v = {.heads = heads.data()}}, dtype, ("scales.v" + rest).c_str());
        CHECK_NOTHROW(validate(KVScales{}, dtype, 2));
    }
}

TEST_CASE("the factors of heads are not followed where they may be device memory", "[cache]") {
    const auto* device = reinterpret_cast<const float*>(std::uintptr_t{64});
    CHECK_NOTHROW(validate_tensor_scales({.k = {.heads = device}}, DType::fp8_e4m3));
    CHECK_THROWS_AS(validate_tensor_scales({.k = {.heads = device}}, DType::bf16),
                    std::invalid_argument);
    CHECK_THROWS_AS(validate_tensor_scales({.v = {0.0f, device}}, DType::fp8_e4m3),
                    std::invalid_argument);
}

TEST_CASE("scatter_kv divides rows by the scale of their head, rounds and saturates", "[cache]") {
    const KVLayout layout = fp8_layout();
    const std::array k_heads = {0.5f, 4.0f};
    const std::array v_heads = {1.0f, 0.01f};
    const KVScales scales = {.k = {2.0f, k_heads.data()}, .v = {0.25f, v_heads.data()}};
    const std::vector<float> k = {1.0f, -2.06f, 1000.0f, 8.0f, 0.0f, -INFINITY};
    const std::vector<float> v = {0.25f, 0.3f, -112.25f, 0.0025f, kNaN, 1.12f};
    std::vector<Fp8E4m3> k_pool(36, Fp8E4m3{0x55}), v_pool(36, Fp8E4m3{0x55});
    scatter_kv(k_pool.data(), v_pool.data(), layout, {k.data(), v.data(), 1},
               std::array<std::int64_t, 1>{4}, scales);

    // k: 1/1, -2.06/1 (steps of 1/4 from 2 on), too large; 8/8, 0, too large.
    const std::array<unsigned, 6> k_codes = {0x38, 0xc0, 0x7e, 0x38, 0x00, 0xfe};
    // v: 0.25/0.25, 1.2 (steps of 1/8 from 1 on), -449; 1, NaN, 448.
    const std::array<unsigned, 6> v_codes = {0x38, 0x3a, 0xfe, 0x38, 0x7f, 0x7e};
    for (std::size_t i = 0; i < 36; ++i) {
        const bool written = i >= 24 && i < 30;  // slot 4 is the first of block 2
        CAPTURE(i);
        CHECK(k_pool[i].bits == (written ? k_codes[i - 24] : 0x55u));
        CHECK(v_pool[i].bits == (written ? v_codes[i - 24] : 0x55u));
    }
    CHECK_THROWS_MATCHES(scatter_kv(k_pool.data(), v_pool.data(), layout, {k.data(), v.data(), 1},
                                    std::array<std::int64_t, 1>{0}, {.k = {.tensor = -1.0f}}),
                         std::invalid_argument,
                         Message("scales.k.tensor is -1; it must be finite and positive"));
    CHECK(k_pool[0].bits == 0x55u);
}

TEST_CASE("a cache of fp8 keeps the scales of each layer and hands them to its views", "[cache]") {
    PagedKVCache cache(2, fp8_layout());
    CHECK(cache.view(0).scales.k.of_head(1) == 1.0f);
    {
        std::vector<float> heads = {0.5f, 2.0f};
        cache.set_scales(1, {.k = {.tensor = 3.0f, .heads = heads.data()}, .v = {.tensor = 0.5f}});
        heads.assign(2, kNaN);  // the cache has its own copy
    }
    PagedKVCache moved = std::move(cache);
    const PagedKVView view = moved.view(1);
    CHECK(view.scales.k.of_head(0) == 1.5f);
    CHECK(view.scales.k.of_head(1) == 6.0f);
    CHECK(view.scales.v.of_head(1) == 0.5f);
    CHECK(moved.view(0).scales.k.of_head(1) == 1.0f);

    const SeqId seq = moved.add_sequence();
    const std::vector<float> rows = {1.5f, 3.0f, -1.5f, 6.0f, 12.0f, -6.0f};
    REQUIRE(moved.append(seq, 1, rows.data(), rows.data()).ok());
    const BlockId block = moved.block_table(seq)[0];
    for (std::int64_t head = 0; head < 2; ++head) {
        for (std::size_t d = 0; d < 3; ++d) {
            const float stored = rows[static_cast<std::size_t>(head) * 3 + d];
            const auto offset = static_cast<std::ptrdiff_t>(d);
            CHECK(to_float(*(view.k_row<Fp8E4m3>(block, 0, head) + offset)) *
                      view.scales.k.of_head(head) ==
                  stored);
            CHECK(to_float(*(view.v_row<Fp8E4m3>(block, 0, head) + offset)) * 0.5f == stored);
        }
    }
}

TEST_CASE("scales are refused once a layer holds tokens, and where there can be none", "[cache]") {
    PagedKVCache cache(2, fp8_layout());
    const SeqId seq = cache.add_sequence();
    const std::vector<float> rows(6, 1.0f);
    REQUIRE(cache.append(seq, 0, rows.data(), rows.data()).ok());
    const KVScales doubled = {.k = {.tensor = 2.0f}};
    CHECK_THROWS_MATCHES(
        cache.set_scales(0, doubled), std::invalid_argument,
        Message(join_text("sequence ", static_cast<std::int64_t>(seq),
                          " holds 1 tokens of layer 0; scales are set before the first")));
    CHECK(cache.view(0).scales.k.tensor == 1.0f);
    CHECK_NOTHROW(cache.set_scales(1, doubled));
    CHECK_THROWS_MATCHES(cache.set_scales(2, doubled), std::invalid_argument,
                         Message("layer is 2; the cache has 2"));
    CHECK_THROWS_AS(cache.set_scales(1, {.v = {.tensor = 0.0f}}), std::invalid_argument);
    cache.free(seq);
    CHECK_NOTHROW(cache.set_scales(0, doubled));

    PagedKVCache plain(1, nhd_layout({.num_blocks = 1, .num_kv_heads = 1, .head_dim = 1}));
    CHECK_THROWS_MATCHES(plain.set_scales(0, doubled), std::invalid_argument,
                         Message("scales.k is set for a pool of fp32; only fp8_e4m3 has scales"));
}
