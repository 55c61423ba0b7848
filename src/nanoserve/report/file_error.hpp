// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace nanoserve::report {

/// A file could not be read, written or understood. `what()` is one line that names the file and
/// the reason.
class FileError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace nanoserve::report
