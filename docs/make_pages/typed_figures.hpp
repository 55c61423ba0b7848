// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Finds performance figures that somebody typed: they would stay when the measurement moves on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::pages {

/// A figure in plain text, and the line it is on.
struct TypedFigure {
    std::size_t line = 0;
    std::string text;

    bool operator==(const TypedFigure&) const = default;
};

/// Every time, rate, ratio, share and clock rate in `page` that doesn't come out of a slot: "4.1
/// µs", "2 TB/s", "1.7 ×", "5 %", "three times faster". Sizes in bytes and tokens are no
/// performance. A number that is a definition, a prediction, arithmetic or somebody else's stands
/// in a slot that says so: `{{defined: 95 %}}`. Throws `PageError` for a slot that is never closed.
[[nodiscard]] std::vector<TypedFigure> find_typed_figures(std::string_view page);

/// Is this slot's text one that may be typed: "defined: ...", "predicted: ...", "arithmetic: ..."
/// or "cited: ..."? Then what stands behind the colon, else nothing.
[[nodiscard]] std::string_view typed_text(std::string_view query);

/// Is `query` one of the words "defined", "predicted", "arithmetic" and "cited" alone? So it is in
/// a kept slot, whose comments stand around the number.
[[nodiscard]] bool is_typed_kind(std::string_view query);

}  // namespace nanoserve::pages
