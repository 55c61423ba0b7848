// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The texts on the chart: the value of each point, and the name of the read floor.
#pragma once

#include <nanoserve/report/plot/paged_read_chart.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>

#include <vector>

namespace nanoserve::report {

/// Finds a place for the value of every point, then for the name of the floor, at the rightmost of
/// its points where there is room. Needs the unit, the axes and the guide of `chart`. A text for
/// which there is no room is left out.
[[nodiscard]] std::vector<PlacedText> place_chart_texts(const PagedReadChart& chart,
                                                        const PagedReadFacts& facts);

}  // namespace nanoserve::report
