// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The one way to stderr. fmt::print would throw where stderr can't be written, and a run of minutes
// would be lost for the sake of a line about it.
#pragma once

#include <string_view>

namespace nanoserve::report {

/// Prints `text` as it stands, or as much of it as stderr takes.
void print_stderr(std::string_view text) noexcept;

/// Prints "program: text" as one line: control characters become blanks.
void complain(std::string_view program, std::string_view text) noexcept;

}  // namespace nanoserve::report
