// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace nanoserve {

/// The instruction sets that the reads are compiled for, from one source; avx2 and avx512 include
/// fused multiply-add and the conversion of fp16. The bits of gather_read, sdpa and
/// paged_attention_reference do not depend on it.
enum class InstructionSet {
    baseline,  ///< what every processor of the architecture has
    avx2,      ///< x86-64 with 32-byte vectors
    avx512,    ///< x86-64 with 64-byte vectors
};

/// "baseline", "avx2" or "avx512".
[[nodiscard]] std::string_view to_string(InstructionSet set);

/// The inverse of to_string. Throws std::invalid_argument naming the text and the known names.
[[nodiscard]] InstructionSet parse_instruction_set(std::string_view text);

/// What this processor runs, slowest first; baseline is always among them.
[[nodiscard]] std::vector<InstructionSet> available_instruction_sets();

/// The last of available_instruction_sets(), or what the environment variable
/// NANOSERVE_INSTRUCTION_SET names. Throws std::invalid_argument when that is unknown or not
/// available here.
[[nodiscard]] InstructionSet default_instruction_set();

}  // namespace nanoserve
