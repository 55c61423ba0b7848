// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any text as a page of the course: pieces that together are the page, queries and typed figures
// that are read or refused by a PageError of one line.
#include "fuzz_target.hpp"

#include <figure_query.hpp>
#include <page_error.hpp>
#include <slots.hpp>
#include <typed_figures.hpp>

#include <string>

using namespace nanoserve;
using namespace nanoserve::fuzz;

namespace {

void read_query(std::string_view query) {
    try {
        const pages::FigureQuery figure = pages::parse_figure(query);
        require_property(figure.cells.size() == 1 || figure.cells.size() == 2,
                         "a figure is one cell or the ratio of two");
    } catch (const pages::PageError& error) {
        require_property(error.what()[0] != '\0', "a refusal says why");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view page = text_of(data, size);
    try {
        std::string whole;
        for (const pages::Piece& piece : pages::split_page(page)) {
            whole += piece.text;
            if (piece.is_slot) {
                read_query(piece.query);
            }
        }
        require_property(whole == page, "the pieces together are the page");
        static_cast<void>(pages::find_typed_figures(page));
    } catch (const pages::PageError& error) {
        require_one_line(error.what());
    }
    return 0;
}
