// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The only door to gnuplot-iostream, which costs four seconds of compiling wherever it is included.
#pragma once

#include <filesystem>
#include <string_view>

namespace nanoserve::report {

/// Writes gnuplot commands to a script file; starts no program. Throws `PlotError` when the file
/// cannot be written whole: gnuplot-iostream itself reports no failure after the opening.
void write_gnuplot_script(const std::filesystem::path& path, std::string_view commands);

}  // namespace nanoserve::report
