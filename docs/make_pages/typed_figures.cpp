// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "typed_figures.hpp"

#include "slots.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <regex>

namespace nanoserve::pages {
namespace {

// A number, what may stand before its unit (also in a formula), and the unit. "2 × 8" is
// arithmetic, so a cross with a number behind it is no ratio.
const std::regex& figure_pattern() {
    static const std::regex pattern(
        R"((^|[^\w.])([0-9]+([.,][0-9]+)?(\s|\xc2\xa0|&nbsp;|~|-|\\[,;: ]|\\mathrm\{|\\text\{)*)"
        R"((([kMGT]i?B|B|bytes|tokens|steps)(/|\s+per\s+)(s|second|ms|us|µs)\b)"
        R"(|(ns|us|µs|μs|ms|s|sec|seconds?|milliseconds?|microseconds?|nanoseconds?)\b)"
        R"(|[kMGT]?(FLOPS?|Hz)\b|\\?%|percent\b|per cent\b)"
        R"(|x\b(?!\s*[0-9])|×(?!\s*[0-9\\])|times\b(?!\s*[0-9])|-?fold\b)))"
        R"(|((two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|hundred)\s+times\s+(as\s+)?)"
        R"((fast|slow|faster|slower|quick|quicker|long|longer)\b))"
        R"(|((twice|half)\s+as\s+(fast|slow|quick|long)\b))");
    return pattern;
}

constexpr std::array<std::string_view, 4> kTypedKinds = {"defined", "predicted", "arithmetic",
                                                         "cited"};

void append_figures(std::vector<TypedFigure>& figures, std::string_view text, std::size_t line) {
    using Match = std::regex_iterator<std::string_view::const_iterator>;
    for (Match match(text.begin(), text.end(), figure_pattern()); match != Match(); ++match) {
        const std::string_view found(text.data() + match->position(),
                                     static_cast<std::size_t>(match->length()));
        const std::size_t at = static_cast<std::size_t>(match->position(0)) +
                               static_cast<std::size_t>(match->length(1));
        figures.push_back(
            {line + line_of(text, at) - 1,
             std::string(trimmed(found.substr(static_cast<std::size_t>(match->length(1)))))});
    }
}

}  // namespace

bool is_typed_kind(std::string_view query) {
    return std::find(kTypedKinds.begin(), kTypedKinds.end(), query) != kTypedKinds.end();
}

std::string_view typed_text(std::string_view query) {
    const auto [kind, text] = cut(query, ":");
    return is_typed_kind(kind) ? text : std::string_view();
}

std::vector<TypedFigure> find_typed_figures(std::string_view page) {
    std::vector<TypedFigure> figures;
    for (const Piece& piece : split_page(page)) {
        if (!piece.is_slot) {
            append_figures(figures, piece.text, piece.line);
        }
    }
    return figures;
}

}  // namespace nanoserve::pages
