// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nanoserve {

/// Tokens [begin, end) of one history.
struct TokenRange {
    std::int32_t begin = 0;  ///< first token
    std::int32_t end = 0;    ///< one past the last
};

}  // namespace nanoserve
