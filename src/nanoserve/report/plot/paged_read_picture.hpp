// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// All that the picture of paged reads shows, before any of it is drawn.
#pragma once

#include <nanoserve/report/plot/heading.hpp>
#include <nanoserve/report/plot/paged_read_chart.hpp>
#include <nanoserve/report/plot/paged_read_facts.hpp>
#include <nanoserve/report/plot/paged_read_panels.hpp>
#include <nanoserve/report/read_row.hpp>

#include <span>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// Numbers, sentences and places. Nothing is left to decide for the one who draws it.
struct PagedReadPicture {
    Heading heading;
    PagedReadFacts facts;
    PagedReadChart chart;
    Panel cost;
    Panel job;
};

/// Makes the picture of the rows. `caption` goes to the foot of it, usually
/// `plot_caption(provenance)`. Throws `std::invalid_argument` as `paged_read_facts` does.
[[nodiscard]] PagedReadPicture paged_read_picture(std::span<const ReadRow> rows,
                                                  std::string_view caption);

}  // namespace nanoserve::report
