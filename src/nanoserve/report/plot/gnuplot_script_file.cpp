// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/gnuplot_script_file.hpp>
#include <nanoserve/report/plot/plot_error.hpp>

#include <fmt/core.h>
#include <gnuplot-iostream.h>

#include <ios>
#include <system_error>

namespace nanoserve::report {

void write_gnuplot_script(const std::filesystem::path& path, std::string_view commands) {
    try {
        // The '>' makes it a file: no pipe, hence no SIGPIPE and no silent failure of a missing
        // program.
        Gnuplot gp(fmt::format(">{}", path.string()));
        gp << commands;
    } catch (const std::ios_base::failure&) {
        throw PlotError(
            fmt::format("cannot write {}: is its folder there and writable?", path.string()));
    }
    std::error_code error;
    if (std::filesystem::file_size(path, error) != commands.size() || error) {
        throw PlotError(fmt::format("cannot write {}: the disk may be full", path.string()));
    }
}

}  // namespace nanoserve::report
