// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "slots.hpp"

#include "page_error.hpp"
#include "text.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace nanoserve::pages {
namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kKeptOpen = "<!-- {{";
constexpr std::string_view kKeptBegin = " -->";
constexpr std::string_view kKeptEnd = "<!-- /-->";

// The end of the closing braces: the last two of a run, so that a formula may end with a brace.
std::size_t find_close(std::string_view page, std::size_t from) {
    std::size_t at = page.find(kClose, from);
    while (at != std::string_view::npos && at + 2 < page.size() && page[at + 2] == '}') {
        ++at;
    }
    return at;
}

Piece slot_at(std::string_view page, std::size_t begin, bool kept) {
    Piece piece;
    piece.line = line_of(page, begin);
    piece.is_slot = true;
    piece.is_kept_slot = kept;
    const std::size_t query = begin + (kept ? kKeptOpen.size() : kOpen.size());
    const std::size_t close = find_close(page, query);
    if (close == std::string_view::npos) {
        throw PageError(fmt::format("line {}: \"{{{{\" is never closed by \"}}}}\"", piece.line));
    }
    piece.query = trimmed(page.substr(query, close - query));
    std::size_t end = close + kClose.size();
    if (kept) {
        const std::size_t text = end + kKeptBegin.size();
        const std::size_t last = page.find(kKeptEnd, end);
        if (!page.substr(end).starts_with(kKeptBegin) || last == std::string_view::npos) {
            throw PageError(
                fmt::format("line {}: behind \"<!-- {{{{...}}}}\" come \"{}\", text and "
                            "\"{}\"",
                            piece.line, kKeptBegin, kKeptEnd));
        }
        piece.kept = page.substr(text, last - text);
        end = last + kKeptEnd.size();
    }
    piece.text = page.substr(begin, end - begin);
    return piece;
}

}  // namespace

std::vector<Piece> split_page(std::string_view page) {
    std::vector<Piece> pieces;
    std::size_t at = 0;
    while (at < page.size()) {
        const std::size_t brace = page.find(kOpen, at);
        const std::size_t comment = page.find(kKeptOpen, at);
        const bool kept = comment != std::string_view::npos && comment < brace;
        const std::size_t begin = std::min(kept ? comment : brace, page.size());
        if (begin > at) {
            Piece plain;
            plain.text = page.substr(at, begin - at);
            plain.line = line_of(page, at);
            pieces.push_back(plain);
        }
        if (begin < page.size()) {
            pieces.push_back(slot_at(page, begin, kept));
            at = begin + pieces.back().text.size();
        } else {
            at = begin;
        }
    }
    return pieces;
}

}  // namespace nanoserve::pages
