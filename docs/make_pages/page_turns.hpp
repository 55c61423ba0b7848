// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The links at the foot of a page: to the one before and the one behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nanoserve::pages {

/// A page's first line, "# Title {#label}".
struct PageTitle {
    std::string title;
    std::string label;

    bool operator==(const PageTitle&) const = default;
};

/// Throws `PageError` if the page doesn't begin with such a line.
[[nodiscard]] PageTitle page_title(std::string_view page);

/// The foot of a page between two others, for Doxygen; "" when there is neither.
[[nodiscard]] std::string page_turns(const std::optional<PageTitle>& previous,
                                     const std::optional<PageTitle>& next);

}  // namespace nanoserve::pages
