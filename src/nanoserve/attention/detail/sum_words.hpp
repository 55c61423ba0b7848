// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/instruction_set.hpp>

#include <cstdint>

namespace nanoserve::detail {

/// Adds `num_words` 32-bit words modulo 2^32; asks for the same stretch at `next` ahead of time
/// unless it is nullptr.
using SumWords = std::uint32_t (*)(const void* words, std::int64_t num_words, const void* next);

[[nodiscard]] SumWords sum_words(InstructionSet set);

}  // namespace nanoserve::detail
