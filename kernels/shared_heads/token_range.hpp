// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nanoserve {

/// Tokens [begin, end) of one history.
struct TokenRange {
    std::int32_t begin = 0;
    std::int32_t end = 0;
};

}  // namespace nanoserve
