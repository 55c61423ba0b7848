// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/attention_shape.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve {

/// How Llama 3.1 and later stretch rotary frequencies beyond the context they were trained on.
struct RopeScaling {
    double factor = 1.0;                     ///< how much longer the context has become
    double low_freq_factor = 1.0;            ///< below it, in turns per original context: stretched
    double high_freq_factor = 1.0;           ///< above it, in turns per original context: kept
    std::int32_t original_max_position = 0;  ///< tokens

    /// Equal when all fields are.
    friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// The public sizes of a model. No weights: the cost of a read depends on shapes and on the history
/// alone.
struct ModelConfig {
    std::string name;                         ///< as find_model() takes it
    std::int32_t num_layers = 0;              ///< one attention read per layer and step
    std::int32_t hidden_size = 0;             ///< elements of a token between layers
    std::int32_t intermediate_size = 0;       ///< elements inside the feed-forward part
    std::int32_t vocab_size = 0;              ///< different tokens
    std::int32_t max_position = 0;            ///< tokens
    AttentionShape attention;                 ///< what a read depends on
    double rope_theta = 0.0;                  ///< base of the rotary frequencies
    std::optional<RopeScaling> rope_scaling;  ///< empty: not stretched

    /// Equal when all fields are.
    friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Llama-3.2-1B, the default of every day. Source: the model card and config.json published by
/// Meta.
[[nodiscard]] ModelConfig llama_3_2_1b();

/// Llama-3-8B: the same heads with head_dim 128. Source: as above.
[[nodiscard]] ModelConfig llama_3_8b();

/// All configurations known by name.
[[nodiscard]] std::vector<ModelConfig> known_models();

/// The configuration called `name`, e.g. "llama-3.2-1b". Throws std::invalid_argument naming the
/// known ones.
[[nodiscard]] ModelConfig find_model(std::string_view name);

}  // namespace nanoserve
