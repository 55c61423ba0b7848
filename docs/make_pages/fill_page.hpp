// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Fills the slots of a page. What may stand in one:
//
//   FILE: COLUMN, KEY=VALUE, ...    a measured figure, see figure_query.hpp
//   table FILE: ...                 a table of them, see figure_table.hpp
//   source FILE                     machine, software, date and commit of a result file
//   defined: 95 %                   a number that nobody measured, see typed_figures.hpp
//   day 19                          the head of a day's page: place, idea, what to type
//   exercise 19                     the day's exercise and the behaviours it asks for
//   days                            the table of the days
//   map                             the map of the days, drawn from what they build on
//   diagram gather FILE A: CAPTION  sequence A and the pool of docs/output/FILE.txt, see
//   diagram fused FILE A: CAPTION   block_diagram.hpp
#pragma once

#include "data_folder.hpp"
#include "day_file.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::pages {

/// One thing that is wrong with a page.
struct Problem {
    std::size_t line = 0;
    std::string text;
};

/// What slots are filled from.
struct PageSources {
    DataFolder& data;
    const std::vector<Day>& days;
    std::filesystem::path outputs;  ///< folder of what the days' programs print
};

/// A page with its slots filled, and why it couldn't be where it couldn't.
struct FilledPage {
    std::string text;
    std::map<std::string, std::string> diagrams;  ///< file name -> text for dot
    std::vector<Problem> problems;
};

/// Where the text will be read: built by Doxygen, or as it is, with its slots kept.
enum class Medium { site, readme };

/// Fills every slot. A page that shows figures of a file must also show, by a table or a `source`
/// slot, where they come from.
[[nodiscard]] FilledPage fill_page(std::string_view page, Medium medium,
                                   const PageSources& sources);

}  // namespace nanoserve::pages
