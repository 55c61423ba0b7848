// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/report/one_line.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace nanoserve::report {

/// A file could not be read, written or understood. `what()` is one line that names the file and
/// the reason.
class FileError : public std::runtime_error {
  public:
    explicit FileError(std::string message) : std::runtime_error(one_line(std::move(message))) {}

    /// "cannot write a.csv: No space left on device"; `verb` is "read" or "write", `error` an
    /// errno.
    FileError(const char* verb, const std::filesystem::path& path, int error)
        : FileError(verb, path, std::generic_category().message(error)) {}

    /// The same for a reason in words.
    FileError(const char* verb, const std::filesystem::path& path, const std::string& reason)
        : FileError(std::string("cannot ") + verb + " " + path.string() + ": " + reason) {}
};

}  // namespace nanoserve::report
