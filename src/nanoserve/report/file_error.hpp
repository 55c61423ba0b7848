// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace nanoserve::report {

/// A file could not be read, written or understood. `what()` is one line that names the file and
/// the reason.
class FileError : public std::runtime_error {
  public:
    /// The message may quote a file: its control characters, line ends among them, become blanks.
    explicit FileError(std::string message)
        : std::runtime_error(without_controls(std::move(message))) {}

  private:
    static std::string without_controls(std::string message) {
        std::replace_if(
            message.begin(), message.end(),
            [](char character) { return static_cast<unsigned char>(character) < ' '; }, ' ');
        return message;
    }
};

}  // namespace nanoserve::report
