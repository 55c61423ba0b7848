// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// From a gnuplot script to a picture, with every failure said aloud.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace nanoserve::report {

/// A picture could not be drawn. `what()` is one line: what failed, the remedy, and where the
/// script was left.
class PlotError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Runs the program `gnuplot` on a script file and waits for it. Throws `PlotError` when there is
/// no such program (with the package to install) and when it fails (with the first line that it
/// said). Raises no SIGPIPE.
void run_gnuplot(const std::filesystem::path& script_path);

/// Draws one picture and moves it to `picture` when it is whole. `commands` draws on whatever
/// terminal and output are set; `terminal` is the argument of gnuplot's `set terminal`.
///
/// On failure the old picture stays, the script, which holds the data, is left beside it as
/// `<picture>.gp.tmp`, and `PlotError` says so. Throws `PlotError` also when the folder of
/// `picture` is missing.
void draw_picture(std::string_view commands, std::string_view terminal,
                  const std::filesystem::path& picture);

}  // namespace nanoserve::report
