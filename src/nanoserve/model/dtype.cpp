// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/dtype.hpp>
#include <nanoserve/model/require.hpp>

#include <array>

namespace nanoserve {
namespace {

constexpr std::array kNames = {std::pair{DType::fp32, std::string_view("fp32")},
                               std::pair{DType::fp16, std::string_view("fp16")},
                               std::pair{DType::bf16, std::string_view("bf16")},
                               std::pair{DType::fp8_e4m3, std::string_view("fp8_e4m3")}};

}  // namespace

std::string_view to_string(DType dtype) {
    for (const auto& [value, name] : kNames) {
        if (value == dtype) {
            return name;
        }
    }
    return "unknown";
}

DType parse_dtype(std::string_view text) {
    for (const auto& [value, name] : kNames) {
        if (name == text) {
            return value;
        }
    }
    throw std::invalid_argument(
        join_text("dtype is \"", text, "\"; known are fp32, fp16, bf16, fp8_e4m3"));
}

}  // namespace nanoserve
