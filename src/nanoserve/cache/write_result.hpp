// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nanoserve {

/// Whether a write to the cache happened. Running out of blocks is a normal answer that a scheduler
/// deals with (wait, evict, preempt), so it is a value and no exception; nothing has changed then.
struct [[nodiscard]] WriteResult {
    std::int64_t blocks_needed = 0;  ///< blocks that the write had to take from the pool
    std::int64_t blocks_free = 0;    ///< blocks that were free before it

    /// Whether the write happened.
    [[nodiscard]] constexpr bool ok() const { return blocks_needed <= blocks_free; }
    /// The same as ok().
    constexpr explicit operator bool() const { return ok(); }
};

/// "ok", or one line such as "out of blocks: the write needs 2, free are 1".
[[nodiscard]] std::string to_string(const WriteResult& result);

}  // namespace nanoserve
