// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A kernel between the CPU's reads and its own ceiling: all that the picture shows, before any of
// it is drawn.
#pragma once

#include <nanoserve/report/plot/heading.hpp>
#include <nanoserve/report/plot/kernel_chart.hpp>

#include <string>
#include <vector>

namespace nanoserve::report {

/// Words and charts, from left to right. Nothing is left to decide for the one who draws them.
struct KernelPicture {
    Heading heading;
    std::vector<KernelChart> charts;
};

/// Makes the picture of the rows. `sources` are lines for the foot, usually the `plot_caption` of
/// either file. Throws `std::invalid_argument` when a curve has no row, naming it, when there are
/// rows of the CPU but none for these batches, when the kernel and its ceiling share no history,
/// and unless there are one or two batches.
[[nodiscard]] KernelPicture kernel_picture(const KernelRows& rows,
                                           const std::vector<std::string>& sources);

}  // namespace nanoserve::report
