// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace nanoserve::testing {

/// What a check has to say, if it refuses.
template <class Check>
[[nodiscard]] std::optional<std::string> refusal_of(const Check& check) {
    try {
        check();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

}  // namespace nanoserve::testing
