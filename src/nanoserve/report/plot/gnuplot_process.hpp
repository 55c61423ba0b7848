// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The program gnuplot, with every failure said aloud.
#pragma once

#include <chrono>
#include <filesystem>

namespace nanoserve::report {

/// What to do about a gnuplot that is missing or broken.
inline constexpr const char* kInstallGnuplot = "install it with \"apt-get install gnuplot-nox\"";

/// Runs the program `gnuplot` on a script file and waits for it. Its standard output, on which a
/// script draws that sets no output, goes to the open file `picture`.
///
/// Throws `PlotError` when there is no such program (with the package to install), when it fails
/// (with the last line that it said), when it takes longer than `limit`, and when a signal waits
/// that a `SignalHold` holds; in the last two cases gnuplot and what it started are killed first.
/// Raises no SIGPIPE.
void run_gnuplot(const std::filesystem::path& script, int picture, std::chrono::milliseconds limit);

}  // namespace nanoserve::report
