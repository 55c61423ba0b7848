// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nanoserve {

/// Joins `parts` into one line of text; numbers are written the same way in every locale.
template <class... Parts>
[[nodiscard]] std::string join_text(const Parts&... parts) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    (text << ... << parts);
    return text.str();
}

/// Throws std::invalid_argument made of `parts` unless `holds`. Used on arguments, before anything
/// changes; the message names the value and its limit.
template <class... Parts>
void require(bool holds, const Parts&... parts) {
    if (!holds) {
        throw std::invalid_argument(join_text(parts...));
    }
}

/// Throws std::invalid_argument naming the pointer when it stands between two elements of `bytes`
/// bytes; nullptr does not.
inline void require_aligned(std::string_view name, const void* pointer, std::int64_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    require(address % static_cast<std::uintptr_t>(bytes) == 0, name, " is not a multiple of ",
            bytes, " bytes");
}

}  // namespace nanoserve
