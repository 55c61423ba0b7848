// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Sliding window, soft cap, ALiBi and sinks: the oracle against numbers worked out by hand, the
// reference against the oracle, and what has no rules refuses them.
#include "support/paged_case.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/read_floor.hpp>
#include <nanoserve/attention/streaming_read.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>
#include <cstring>

using Catch::Matchers::Message;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using nanoserve::attention_oracle;
using nanoserve::OracleResult;
using nanoserve::paged_attention_reference;
using nanoserve::PagedAttentionParams;
using nanoserve::ScoreRules;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::PagedCase;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One head, three tokens with scores 1, 2, 3 and values 10, 20, 30.
OracleResult three_tokens(const ScoreRules& rules) {
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1},
                    .block_size = 1,
                    .seq_lens = {3}});
    test.set_q(1.0f);
    for (std::size_t t = 0; t < 3; ++t) {
        const auto block = test.tables().block_tables[t];
        test.set_row(true, block, 0, 0, static_cast<float>(t + 1));
        test.set_row(false, block, 0, 0, static_cast<float>(10 * (t + 1)));
    }
    PagedAttentionParams params = test.params();
    params.sm_scale = 1.0f;
    params.rules = rules;
    return attention_oracle(params);
}

// What softmax makes of three scores and a sink.
void check_three(const OracleResult& oracle, double s0, double s1, double s2,
                 double sink = -kInfinity) {
    const double sum = std::exp(s0) + std::exp(s1) + std::exp(s2) + std::exp(sink);
    CHECK_THAT(oracle.out[0],
               WithinRel((10 * std::exp(s0) + 20 * std::exp(s1) + 30 * std::exp(s2)) / sum, 1e-14));
    CHECK_THAT(oracle.lse[0], WithinRel(std::log(sum), 1e-14));
}

// A case with rules of every kind that the bits of `kinds` name.
CaseSpec spec_with(unsigned kinds) {
    CaseSpec spec = {.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 32},
                     .block_size = 4,
                     .seq_lens = {0, 1, 7, 8, 9, 100},
                     .q_scale = 3.0f};
    spec.sliding_window = (kinds & 1) != 0 ? 8 : 0;
    spec.logits_soft_cap = (kinds & 2) != 0 ? 2.5f : 0.0f;
    spec.alibi = (kinds & 4) != 0;
    spec.sinks = (kinds & 8) != 0;
    return spec;
}

std::vector<float> reference_of(PagedAttentionParams params, std::vector<float>& out,
                                std::vector<float>& lse) {
    out.assign(static_cast<std::size_t>(params.num_seqs * params.num_q_heads) *
                   static_cast<std::size_t>(params.kv.layout.head_dim),
               0.0f);
    lse.assign(static_cast<std::size_t>(params.num_seqs * params.num_q_heads), 0.0f);
    params.out = out.data();
    params.lse = lse.data();
    paged_attention_reference(params);
    return out;
}

}  // namespace

TEST_CASE("the oracle applies each rule as the formula does", "[rules]") {
    const float slope = 0.25f, sink = 2.5f;
    check_three(three_tokens({}), 1, 2, 3);
    check_three(three_tokens({.sliding_window = 2}), -kInfinity, 2, 3);
    check_three(three_tokens({.sliding_window = 3}), 1, 2, 3);
    check_three(three_tokens({.logits_soft_cap = 2.0f}), 2 * std::tanh(0.5), 2 * std::tanh(1.0),
                2 * std::tanh(1.5));
    check_three(three_tokens({.alibi_slopes = &slope}), 0.5, 1.75, 3);
    check_three(three_tokens({.sinks = &sink}), 1, 2, 3, 2.5);
}

TEST_CASE("rules apply in their order: the cap before the bias, the window to both", "[rules]") {
    const float slope = 4.0f, sink = -1.0f;
    check_three(
        three_tokens(
            {.sliding_window = 2, .logits_soft_cap = 2.0f, .alibi_slopes = &slope, .sinks = &sink}),
        -kInfinity, 2 * std::tanh(1.0) - 4.0, 2 * std::tanh(1.5), -1.0);
}

TEST_CASE("the reference agrees with the oracle under every set of rules", "[rules]") {
    const unsigned kinds = GENERATE(range(0u, 16u));
    CaseSpec spec = spec_with(kinds);
    spec.dtype =
        GENERATE(nanoserve::DType::fp32, nanoserve::DType::bf16, nanoserve::DType::fp8_e4m3);
    spec.scaled = spec.dtype == nanoserve::DType::fp8_e4m3;
    spec.block_size = GENERATE(1, 4, 16);
    PagedCase test(spec);
    const PagedAttentionParams params = test.params();
    const OracleResult oracle = attention_oracle(params);
    nanoserve::ReadContext two_threads({.num_threads = 2});
    paged_attention_reference(params, two_threads);
    CAPTURE(test.describe());
    const double bound = nanoserve::rounding_bound(params);
    const double lse_bound = nanoserve::lse_rounding_bound(params);
    const std::vector<float> out = test.out_floats();
    for (std::size_t i = 0; i < out.size(); ++i) {
        REQUIRE_THAT(out[i], WithinAbs(oracle.out[i], bound));
    }
    for (std::size_t i = 0; i < test.lse().size(); ++i) {
        if (std::isinf(oracle.lse[i])) {
            REQUIRE(test.lse()[i] == -kInfinity);
        } else {
            REQUIRE_THAT(test.lse()[i], WithinAbs(oracle.lse[i], lse_bound));
        }
    }
}

TEST_CASE("rules that ask for nothing change no bit", "[rules]") {
    PagedCase test(spec_with(0));
    PagedAttentionParams params = test.params();
    std::vector<float> plain, plain_lse, ruled, ruled_lse;
    (void)reference_of(params, plain, plain_lse);
    const std::vector<float> slopes(6, 0.0f), sinks(6, -kInfinity);
    params.rules = {.sliding_window = 100, .alibi_slopes = slopes.data(), .sinks = sinks.data()};
    (void)reference_of(params, ruled, ruled_lse);
    CHECK(ruled == plain);
    CHECK(ruled_lse == plain_lse);
}

TEST_CASE("a window is the history of its tokens alone", "[rules]") {
    PagedCase test({.block_size = 1, .seq_lens = {50}});
    PagedAttentionParams params = test.params();
    params.rules.sliding_window = GENERATE(1, 13, 49);
    std::vector<float> windowed, alone, lse, alone_lse;
    (void)reference_of(params, windowed, lse);
    const auto window = static_cast<std::int32_t>(params.rules.sliding_window);
    params.rules = {};
    params.block_tables += 50 - window;
    params.seq_lens = &window;
    (void)reference_of(params, alone, alone_lse);
    CHECK(windowed == alone);
    CHECK(lse == alone_lse);
}

TEST_CASE("without a visible token a sink is all of lse, however large", "[rules]") {
    PagedCase test(
        {.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 8}, .seq_lens = {0, 3}});
    PagedAttentionParams params = test.params();
    const float sinks[] = {-7.0f, 30'000.0f};
    params.rules.sinks = sinks;
    paged_attention_reference(params);
    CHECK(test.lse()[0] == -7.0f);
    CHECK(test.lse()[1] == 30'000.0f);
    CHECK(test.lse()[3] == 30'000.0f);
    for (const std::size_t element : {0u, 8u, 15u, 24u}) {  // empty, or outweighed
        CHECK(test.out_floats()[element] == 0.0f);
    }
    const OracleResult oracle = attention_oracle(params);
    CHECK(oracle.lse[0] == -7.0);
    CHECK(oracle.lse[1] == 30'000.0);
}

TEST_CASE("rules that can't be are refused by name", "[rules]") {
    PagedCase test({.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8}});
    const auto refuses = [&](const ScoreRules& rules, const char* text) {
        PagedAttentionParams params = test.params();
        params.rules = rules;
        CHECK_THROWS_MATCHES(paged_attention_reference(params), std::invalid_argument,
                             Message(text));
        CHECK_THROWS_MATCHES(attention_oracle(params), std::invalid_argument, Message(text));
    };
    const float nan = std::nanf("");
    const float bad[] = {1.0f, nan, 1.0f}, endless[] = {kInfinity, 0.0f},
                far_away[] = {0.0f, -2e30f};
    refuses({.sliding_window = -1},
            "sliding_window is -1; it must not be negative, and 0 for no window");
    refuses({.logits_soft_cap = -1.0f},
            "logits_soft_cap is -1; it must be finite and not negative, and 0 for no cap");
    refuses({.logits_soft_cap = nan},
            "logits_soft_cap is nan; it must be finite and not negative, and 0 for no cap");
    refuses({.logits_soft_cap = kInfinity},
            "logits_soft_cap is inf; it must be finite and not negative, and 0 for no cap");
    refuses({.alibi_slopes = bad}, "alibi_slopes[1] is nan; it must be finite");
    refuses({.sinks = bad}, "sinks[1] is nan; it must be from -1e30 to 1e30, or -inf for no sink");
    refuses({.sinks = endless},
            "sinks[0] is inf; it must be from -1e30 to 1e30, or -inf for no sink");
    refuses({.sinks = far_away},
            "sinks[1] is -2e+30; it must be from -1e30 to 1e30, or -inf for no sink");
    const auto* const between = reinterpret_cast<const float*>(
        reinterpret_cast<const std::byte*>(bad) + 1);  // NOLINT: an address, never read
    refuses({.alibi_slopes = between}, "alibi_slopes is not a multiple of 4 bytes");
    refuses({.sinks = between}, "sinks is not a multiple of 4 bytes");
}

TEST_CASE("a read without rules refuses them", "[rules]") {
    static const float slope = 1.0f;  // the generator keeps its address
    const ScoreRules rules =
        GENERATE_COPY(ScoreRules{.sliding_window = 3}, ScoreRules{.logits_soft_cap = 50.0f},
                      ScoreRules{.alibi_slopes = &slope}, ScoreRules{.sinks = &slope});
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 8}});
    PagedAttentionParams params = test.params();
    params.rules = rules;
    const auto text = [](std::string read) {
        return Message(read +
                       " has no sliding window, soft cap, ALiBi or sinks; "
                       "paged_attention_reference and the GPU's paged_attention have");
    };
    CHECK_THROWS_MATCHES(nanoserve::gather_read(params), std::invalid_argument,
                         text("gather_read"));
    CHECK_THROWS_MATCHES(nanoserve::streaming_read(params), std::invalid_argument,
                         text("streaming_read"));
    CHECK_THROWS_MATCHES(nanoserve::read_floor(params, nanoserve::FloorOrder::prefetched),
                         std::invalid_argument, text("read_floor"));
}
