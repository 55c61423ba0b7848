// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// From gnuplot commands to pictures.
#pragma once

#include <nanoserve/report/plot/plot_error.hpp>

#include <chrono>
#include <filesystem>
#include <span>
#include <string>

namespace nanoserve::report {

/// A picture that is to be drawn.
struct Picture {
    std::filesystem::path path;  ///< ends in .png or .svg
    std::string terminal;        ///< the argument of gnuplot's `set terminal`
    std::string commands;        ///< that draw on whatever terminal and output are set
};

/// How long gnuplot may take for one picture; it needs less than a second.
inline constexpr std::chrono::milliseconds kGnuplotLimit = std::chrono::minutes(1);

/// Draws pictures that belong together; when all are whole and on the disk, they take their names.
/// gnuplot sees no path of a picture: it draws on its standard output, which is the file.
///
/// On failure the old pictures stay. Where gnuplot failed, the script, which holds the data, is
/// left beside the picture as `<picture>.gp.tmp`, and `PlotError` says so; it draws on standard
/// output. Throws `PlotError` also when the folder of a picture is missing or its disk full.
///
/// SIGINT, SIGTERM and SIGHUP end gnuplot at once and this program when no file is left half done.
void draw_pictures(std::span<const Picture> pictures,
                   std::chrono::milliseconds limit = kGnuplotLimit);

}  // namespace nanoserve::report
