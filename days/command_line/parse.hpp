// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// CLI11, and what it would let pass.
#pragma once

#include <CLI/CLI.hpp>

namespace nanoserve::days {

/// Reads the command line as `app.parse` does, and refuses besides: a number that is not written in
/// decimal digits ("0x10", "+7" and " 7" are 16 and 7 to CLI11, "010" is 8), an item of a list that
/// is empty ("16,,32", which loses it) and a value that is empty. Throws CLI::CallForHelp for
/// --help, another CLI::ParseError for what is wrong.
void parse(CLI::App& app, int argc, const char* const* argv);

/// The same for a program that has no more to say about --help: prints it and returns false.
[[nodiscard]] bool parse_or_help(CLI::App& app, int argc, const char* const* argv);

}  // namespace nanoserve::days
