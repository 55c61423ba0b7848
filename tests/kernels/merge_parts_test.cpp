// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Merging what was summed over parts of a history, and where the parts stand: no GPU needed.
#include "support/paged_case.hpp"

#include <nanoserve/attention/detail/element_at.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/split_kv/write_output.hpp>

#include <cmath>
#include <random>
#include <vector>

using Catch::Matchers::Message;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using nanoserve::DType;
using nanoserve::ElementSums;
using nanoserve::PagedAttentionParams;
using nanoserve::Partials;

namespace {

ElementSums merge(const std::vector<ElementSums>& parts) {
    return nanoserve::merge_parts(static_cast<int>(parts.size()),
                                  [&](int i) { return parts[static_cast<std::size_t>(i)]; });
}

// 3 sequences of 4 query heads; no pool and no tables, for they are merged from parts alone.
PagedAttentionParams params_of(std::int32_t head_dim) {
    PagedAttentionParams params;
    params.num_seqs = 3;
    params.num_q_heads = 4;
    params.kv.layout =
        nanoserve::nhd_layout({.num_blocks = 1, .num_kv_heads = 4, .head_dim = head_dim});
    return params;
}

}  // namespace

TEST_CASE("two parts are moved to the larger maximum before they are added", "[kernels][split]") {
    // 3 tokens of weight 1 at maximum 5, 1 of weight 1 at maximum 7: factors 1/4 and 1.
    const ElementSums all = merge({{5.0f, 3.0f, 6.0f}, {7.0f, 1.0f, 8.0f}});
    CHECK(all.max == 7.0f);
    CHECK(all.sum == 1.75f);
    CHECK(all.out == 9.5f);
    const ElementSums turned = merge({{7.0f, 1.0f, 8.0f}, {5.0f, 3.0f, 6.0f}});
    CHECK(turned.sum == 1.75f);
    CHECK(turned.out == 9.5f);
}

TEST_CASE("one part is itself", "[kernels][split]") {
    const ElementSums all = merge({{-3.0f, 2.5f, -7.25f}});
    CHECK(all.max == -3.0f);
    CHECK(all.sum == 2.5f);
    CHECK(all.out == -7.25f);
}

TEST_CASE("a part whose sum is NaN makes all NaN, whatever its maximum", "[kernels][split]") {
    const ElementSums full = {2.0f, 3.0f, 4.0f};
    for (const float max : {-INFINITY, -5.0f, 9.0f}) {  // no score but NaN gives a maximum of -inf
        const ElementSums broken = {nanoserve::told_max(max, NAN), NAN, NAN};
        for (const auto& parts : {std::vector{broken}, std::vector{broken, full},
                                  std::vector{full, broken}, std::vector(9, broken)}) {
            const ElementSums all = merge(parts);
            CHECK(std::isnan(all.max));
            CHECK(std::isnan(all.sum));
            CHECK(std::isnan(all.out));
        }
    }
    CHECK(nanoserve::told_max(-INFINITY, 0.0f) == -INFINITY);
    CHECK(nanoserve::told_max(2.0f, 3.0f) == 2.0f);
}

TEST_CASE("a part without tokens is left out, whatever it holds", "[kernels][split]") {
    const ElementSums empty = {-INFINITY, NAN, NAN};
    const ElementSums full = {2.0f, 3.0f, 4.0f};
    for (const auto& parts :
         {std::vector{empty, full}, std::vector{full, empty}, std::vector{empty, full, empty}}) {
        const ElementSums all = merge(parts);
        CHECK(all.max == 2.0f);
        CHECK(all.sum == 3.0f);
        CHECK(all.out == 4.0f);
    }
}

TEST_CASE("nothing but empty parts, or no part at all, is an empty sum", "[kernels][split]") {
    for (const auto& parts : {std::vector<ElementSums>{}, std::vector<ElementSums>(3)}) {
        const ElementSums all = merge(parts);
        CHECK(all.max == -INFINITY);
        CHECK(all.sum == 0.0f);
        CHECK(all.out == 0.0f);
    }
}

TEST_CASE("parts whose maxima lie far apart neither overflow nor vanish", "[kernels][split]") {
    const ElementSums all = merge({{-9000.0f, 1.0f, 1.0f}, {9000.0f, 2.0f, 3.0f}});
    CHECK(all.max == 9000.0f);
    CHECK(all.sum == 2.0f);
    CHECK(all.out == 3.0f);
    const ElementSums low = merge({{-9000.0f, 1.0f, 1.0f}, {-9001.0f, 2.0f, 3.0f}});
    CHECK(low.max == -9000.0f);
    CHECK(low.sum == 2.0f);
    CHECK(low.out == 2.5f);
}

TEST_CASE("a history that was cut up gives what it gives in one piece", "[kernels][split]") {
    const int num_parts = GENERATE(1, 2, 3, 7, 50);
    std::mt19937 random(static_cast<std::uint32_t>(num_parts));
    std::normal_distribution<float> scores(0.0f, 8.0f), values;
    std::vector<ElementSums> parts(static_cast<std::size_t>(num_parts));
    std::vector<std::pair<double, double>> tokens;
    for (int t = 0; t < 150; ++t) {
        const float score = scores(random);
        const float value = values(random);
        tokens.emplace_back(score, value);
        auto& part = parts[static_cast<std::size_t>(t % num_parts)];
        part = merge({part, {score, 1.0f, value}});
    }
    double sum = 0.0, out = 0.0, sizes = 0.0;
    for (const auto& [score, value] : tokens) {
        sum += std::exp2(score);
        out += std::exp2(score) * value;
        sizes += std::exp2(score) * std::abs(value);
    }
    const ElementSums all = merge(parts);
    // A token is in at most 200 merges. Each multiplies by a factor, off by 5 units of 2^-24 and by
    // the rounding of its exponent, which is below 64, and adds.
    constexpr double kBound = 200 * (5.0 + 64.0 + 2.0) * 0x1p-24;
    CHECK_THAT(all.out / all.sum, WithinAbs(out / sum, 2.0 * kBound * sizes / sum));
    CHECK_THAT(all.sum * std::exp2(double{all.max}), WithinRel(sum, kBound));
}

TEST_CASE("the parts of a row stand side by side, each with its max and sum", "[kernels][split]") {
    const PagedAttentionParams params = params_of(8);
    REQUIRE(nanoserve::partials_bytes(params, 5) == std::size_t{3 * 4 * 5} * (8 + 2) * 4);
    std::vector<float> workspace(3 * 4 * 5 * (8 + 2), NAN);
    const Partials partials =
        nanoserve::partials_in(params, 5, workspace.data(), workspace.size() * sizeof(float));
    for (std::int64_t row = 0; row < 12; ++row) {
        for (int split = 0; split < 5; ++split) {
            for (int d = 0; d < 8; ++d) {
                const auto number = static_cast<float>((row * 5 + split) * 8 + d);
                partials.store(row, split, d,
                               {static_cast<float>(row), static_cast<float>(split), number});
            }
        }
    }
    for (const float word : workspace) {
        REQUIRE(!std::isnan(word));  // every word is one of the parts'
    }
    CHECK(partials.out[(7 * 5 + 3) * 8 + 2] == static_cast<float>((7 * 5 + 3) * 8 + 2));
    const ElementSums sums = partials.load(7, 3, 2);
    CHECK(sums.max == 7.0f);
    CHECK(sums.sum == 3.0f);
    CHECK(sums.out == static_cast<float>((7 * 5 + 3) * 8 + 2));
}

TEST_CASE("merged parts are divided and stored, with the lse in natural units",
          "[kernels][split]") {
    PagedAttentionParams params = params_of(8);
    params.io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    std::vector<float> workspace(3 * 4 * 2 * (8 + 2), NAN), lse(12, NAN), out(12 * 8, NAN);
    params.lse = lse.data();
    params.out = out.data();
    const Partials partials =
        nanoserve::partials_in(params, 2, workspace.data(), workspace.size() * sizeof(float));
    for (int d = 0; d < 8; ++d) {
        partials.store(5, 0, d, {3.0f, 2.0f, 8.0f});
        partials.store(5, 1, d, {2.0f, 4.0f, 8.0f});
        partials.store(6, 0, d, {});
        partials.store(6, 1, d, {});
    }
    for (int d = 0; d < 8; ++d) {
        nanoserve::merge_element(params, partials, 5, d);
        nanoserve::merge_element(params, partials, 6, d);
    }
    const auto element = [&](int i) {
        return nanoserve::detail::element_at(out.data(), params.io_dtype, i);
    };
    CHECK(element(5 * 8 + 7) == 3.0);  // (8 + 8 / 2) / (2 + 4 / 2)
    CHECK_THAT(lse[5], WithinRel(static_cast<float>(5.0 * std::log(2.0)), 1e-6f));  // 2^3 * 4
    CHECK(element(6 * 8) == 0.0);
    CHECK(lse[6] == -INFINITY);
}

TEST_CASE("a workspace that can't hold the parts is refused by name", "[kernels][split]") {
    const PagedAttentionParams params = params_of(8);
    std::vector<float> workspace(3 * 4 * 2 * (8 + 2) + 4);
    const std::size_t bytes = nanoserve::partials_bytes(params, 2);
    const auto refused = [&](int num_splits, void* memory, std::size_t size, const char* message) {
        CHECK_THROWS_MATCHES(nanoserve::partials_in(params, num_splits, memory, size),
                             std::invalid_argument, Message(message));
    };
    refused(0, workspace.data(), bytes, "num_splits is 0; it must be 1 to 1024");
    refused(1025, workspace.data(), bytes, "num_splits is 1025; it must be 1 to 1024");
    refused(2, workspace.data(), bytes - 1, "workspace_bytes is 959; 2 splits need 960");
    refused(2, nullptr, bytes, "workspace is null");
    refused(2, reinterpret_cast<std::byte*>(workspace.data()) + 4, bytes,
            "workspace must be a multiple of 16 bytes");
    CHECK_NOTHROW(nanoserve::partials_in(params, 2, workspace.data(), bytes));
    PagedAttentionParams empty = params;
    empty.num_seqs = 0;
    CHECK(nanoserve::partials_in(empty, 2, nullptr, 0).num_splits == 2);
}
