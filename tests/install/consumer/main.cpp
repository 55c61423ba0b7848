// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/model/model_config.hpp>

#include <vector>

int main() {
    const auto shape = nanoserve::llama_3_2_1b().attention;
    nanoserve::SyntheticHistory history({.shape = shape, .seq_len = 20});
    std::vector<float> out(static_cast<std::size_t>(shape.num_q_heads * shape.head_dim));
    auto params = history.params();
    params.out = out.data();
    nanoserve::gather_read(params);
    return out.front() == 0.0f ? 1 : 0;
}
