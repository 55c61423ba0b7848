// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "support/between_elements.hpp"

#include <nanoserve/cache/scatter_kv.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

using nanoserve::from_float;
using nanoserve::to_float;
using nanoserve::testing::between_elements;

namespace {

template <class T>
constexpr nanoserve::DType kDTypeOf = nanoserve::DType::fp32;
template <>
constexpr nanoserve::DType kDTypeOf<nanoserve::Fp16> = nanoserve::DType::fp16;
template <>
constexpr nanoserve::DType kDTypeOf<nanoserve::Bf16> = nanoserve::DType::bf16;

}  // namespace

TEMPLATE_TEST_CASE("scatter_kv puts each row into its slot and touches nothing else", "[cache]",
                   float, nanoserve::Fp16, nanoserve::Bf16) {
    const auto layout = nanoserve::hnd_layout({.dtype = kDTypeOf<TestType>,
                                               .num_blocks = 3,
                                               .block_size = 2,
                                               .num_kv_heads = 2,
                                               .head_dim = 3});
    std::vector<float> k(2 * 2 * 3);
    std::iota(k.begin(), k.end(), 1.0f);
    std::vector<float> v(k.size());
    std::iota(v.begin(), v.end(), 101.0f);
    std::vector<TestType> k_cache(36, from_float<TestType>(-1.0f));
    std::vector<TestType> v_cache(36, from_float<TestType>(-1.0f));
    const std::array<std::int64_t, 2> slots = {5, 0};

    nanoserve::scatter_kv(k_cache.data(), v_cache.data(), layout, {k.data(), v.data(), 2}, slots);

    int num_untouched = 0;
    for (std::int64_t block = 0; block < 3; ++block) {
        for (std::int64_t token = 0; token < 2; ++token) {
            for (std::int64_t head = 0; head < 2; ++head) {
                const std::int64_t slot = block * 2 + token;
                const auto row = static_cast<std::size_t>(layout.offset(block, token, head));
                for (std::size_t d = 0; d < 3; ++d) {
                    const auto index = static_cast<std::size_t>(head) * 3 + d + (slot == 0 ? 6 : 0);
                    const bool written = slot == 0 || slot == 5;
                    CHECK(to_float(k_cache[row + d]) == (written ? k[index] : -1.0f));
                    CHECK(to_float(v_cache[row + d]) == (written ? v[index] : -1.0f));
                    num_untouched += !written;
                }
            }
        }
    }
    CHECK(num_untouched == 4 * 6);
}

TEST_CASE("of rows with equal slots the last one stays", "[cache]") {
    const auto layout =
        nanoserve::nhd_layout({.num_blocks = 2, .block_size = 2, .num_kv_heads = 1, .head_dim = 1});
    std::vector<float> k_cache(4), v_cache(4);
    const std::vector<float> k = {1.0f, 2.0f, 3.0f};
    const std::vector<float> v = {4.0f, 5.0f, 6.0f};
    const std::array<std::int64_t, 3> slots = {2, 1, 2};
    nanoserve::scatter_kv(k_cache.data(), v_cache.data(), layout, {k.data(), v.data(), 3}, slots);
    CHECK(k_cache == std::vector<float>{0.0f, 2.0f, 3.0f, 0.0f});
    CHECK(v_cache == std::vector<float>{0.0f, 5.0f, 6.0f, 0.0f});
}

TEST_CASE("a slot outside the pool is refused before anything is stored", "[cache]") {
    const auto layout =
        nanoserve::nhd_layout({.num_blocks = 2, .block_size = 2, .num_kv_heads = 1, .head_dim = 1});
    std::vector<float> pool(4, 7.0f);
    const std::vector<float> rows = {1.0f, 2.0f};
    const std::array<std::int64_t, 2> slots = {0, 4};
    CHECK_THROWS_MATCHES(nanoserve::scatter_kv(pool.data(), pool.data(), layout,
                                               {rows.data(), rows.data(), 2}, slots),
                         std::invalid_argument,
                         Catch::Matchers::Message("slot is 4; the pool has 4 slots"));
    CHECK(pool == std::vector<float>(4, 7.0f));
    CHECK_THROWS_MATCHES(nanoserve::scatter_kv(pool.data(), pool.data(), layout,
                                               {rows.data(), rows.data(), 1}, slots),
                         std::invalid_argument,
                         Catch::Matchers::Message("slot_mapping has 2 entries for 1 tokens"));
}

TEST_CASE("scatter_kv refuses negative slots, null rows and null pools", "[cache]") {
    const auto layout =
        nanoserve::nhd_layout({.num_blocks = 2, .block_size = 2, .num_kv_heads = 1, .head_dim = 1});
    std::vector<float> pool(4, 7.0f);
    const float row = 1.0f;
    const auto refused = [&](void* k_cache, const float* k, std::int64_t slot,
                             const char* message) {
        CHECK_THROWS_MATCHES(
            nanoserve::scatter_kv(k_cache, pool.data(), layout, {k, &row, 1}, std::array{slot}),
            std::invalid_argument, Catch::Matchers::Message(message));
    };
    refused(pool.data(), &row, -1, "slot is -1; the pool has 4 slots");
    refused(pool.data(), nullptr, 0, "k or v is null for 1 tokens");
    refused(nullptr, &row, 0, "k_cache or v_cache is null");
    CHECK(pool == std::vector<float>(4, 7.0f));
}

TEST_CASE("scatter_kv refuses a pointer between two elements, by name", "[cache]") {
    const auto layout =
        nanoserve::nhd_layout({.num_blocks = 2, .block_size = 2, .num_kv_heads = 1, .head_dim = 1});
    std::vector<float> pool(5, 7.0f);
    const std::array<float, 2> row = {1.0f, 2.0f};
    const auto refused = [&](void* k_cache, void* v_cache, const float* k, const float* v,
                             const char* message) {
        CHECK_THROWS_MATCHES(
            nanoserve::scatter_kv(k_cache, v_cache, layout, {k, v, 1}, std::array{std::int64_t{0}}),
            std::invalid_argument, Catch::Matchers::Message(message));
        CHECK(pool == std::vector<float>(5, 7.0f));
    };
    float* const good = pool.data();
    refused(between_elements(good), good, row.data(), row.data(),
            "k_cache is not a multiple of 4 bytes");
    refused(good, between_elements(good), row.data(), row.data(),
            "v_cache is not a multiple of 4 bytes");
    refused(good, good, between_elements(row.data()), row.data(), "k is not a multiple of 4 bytes");
    refused(good, good, row.data(), between_elements(row.data()), "v is not a multiple of 4 bytes");
}
