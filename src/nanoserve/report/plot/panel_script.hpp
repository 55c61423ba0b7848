// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A panel of text in the language of gnuplot.
#pragma once

#include <nanoserve/report/plot/gnuplot_script.hpp>
#include <nanoserve/report/plot/paged_read_panels.hpp>

#include <string_view>

namespace nanoserve::report {

/// Writes a panel into its box. `colour` marks its left edge and its headline; the columns have the
/// colours of their curves.
void write_panel(GnuplotScript& script, const Panel& panel, const PixelBox& box,
                 std::string_view colour);

}  // namespace nanoserve::report
