// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/model_config.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <stdexcept>

TEST_CASE("the models have the sizes of their public cards", "[model]") {
    const auto small = nanoserve::llama_3_2_1b();
    CHECK(small.num_layers == 16);
    CHECK(small.attention ==
          nanoserve::AttentionShape{.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64});
    CHECK(small.vocab_size == 128256);
    CHECK(small.rope_theta == 500000.0);
    REQUIRE(small.rope_scaling.has_value());
    CHECK(small.rope_scaling->factor == 32.0);
    CHECK(small.rope_scaling->original_max_position == 8192);

    const auto large = nanoserve::llama_3_8b();
    CHECK(large.num_layers == 32);
    CHECK(large.attention ==
          nanoserve::AttentionShape{.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 128});
    CHECK_FALSE(large.rope_scaling.has_value());
}

TEST_CASE("the heads of every known model make up its hidden size", "[model]") {
    for (const auto& model : nanoserve::known_models()) {
        CAPTURE(model.name);
        CHECK_NOTHROW(nanoserve::validate(model.attention));
        CHECK(model.attention.num_q_heads * model.attention.head_dim == model.hidden_size);
        CHECK(nanoserve::find_model(model.name) == model);
    }
}

TEST_CASE("an unknown model is refused with the known names", "[model]") {
    CHECK_THROWS_MATCHES(
        nanoserve::find_model("gpt"), std::invalid_argument,
        Catch::Matchers::Message("model is \"gpt\"; known are llama-3.2-1b, llama-3-8b"));
}
