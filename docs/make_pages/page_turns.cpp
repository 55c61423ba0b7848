// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "page_turns.hpp"

#include "page_error.hpp"
#include "text.hpp"

#include <fmt/core.h>

namespace nanoserve::pages {
namespace {

std::string turn(const char* side, const char* word, const std::optional<PageTitle>& page) {
    return page ? fmt::format(
                      "<div class=\"{}\"><span class=\"what\">{}</span> @ref {} "
                      "\"{}\"</div>\n",
                      side, word, page->label, page->title)
                : "";
}

}  // namespace

PageTitle page_title(std::string_view page) {
    const std::string_view line = page.substr(0, page.find('\n'));
    const auto [title, rest] = cut(line.starts_with("# ") ? line.substr(2) : "", "{#");
    const std::string_view label = cut(rest, "}").first;
    if (title.empty() || label.empty()) {
        throw PageError("line 1: a page begins with \"# Title {#label}\"");
    }
    return {std::string(title), std::string(label)};
}

std::string page_turns(const std::optional<PageTitle>& previous,
                       const std::optional<PageTitle>& next) {
    if (!previous && !next) {
        return "";
    }
    return "\n<div class=\"turns\">\n" + turn("previous", "previous", previous) +
           turn("next", "next", next) + "</div>\n";
}

}  // namespace nanoserve::pages
