// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>

namespace nanoserve::report {

/// The message as one line that a terminal takes as text: its control characters, line ends among
/// them, become blanks. A message may quote a file, a path or an argument.
[[nodiscard]] inline std::string one_line(std::string message) {
    std::replace_if(
        message.begin(), message.end(),
        [](char character) {
            return static_cast<unsigned char>(character) < ' ' || character == '\x7f';
        },
        ' ');
    return message;
}

}  // namespace nanoserve::report
