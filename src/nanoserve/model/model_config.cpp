// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/model_config.hpp>
#include <nanoserve/model/require.hpp>

namespace nanoserve {

ModelConfig llama_3_2_1b() {
    return {.name = "llama-3.2-1b",
            .num_layers = 16,
            .hidden_size = 2048,
            .intermediate_size = 8192,
            .vocab_size = 128256,
            .max_position = 131072,
            .attention = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64},
            .rope_theta = 500000.0,
            .rope_scaling = RopeScaling{.factor = 32.0,
                                        .low_freq_factor = 1.0,
                                        .high_freq_factor = 4.0,
                                        .original_max_position = 8192}};
}

ModelConfig llama_3_8b() {
    return {.name = "llama-3-8b",
            .num_layers = 32,
            .hidden_size = 4096,
            .intermediate_size = 14336,
            .vocab_size = 128256,
            .max_position = 8192,
            .attention = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 128},
            .rope_theta = 500000.0,
            .rope_scaling = std::nullopt};
}

std::vector<ModelConfig> known_models() {
    return {llama_3_2_1b(), llama_3_8b()};
}

ModelConfig find_model(std::string_view name) {
    std::string names;
    for (const ModelConfig& model : known_models()) {
        if (model.name == name) {
            return model;
        }
        names += (names.empty() ? "" : ", ") + model.name;
    }
    throw std::invalid_argument(join_text("model is \"", name, "\"; known are ", names));
}

}  // namespace nanoserve
