// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any text as what a day says of itself: day.txt, exercise.txt, check.cpp and the program's picture
// of a pool are read, or refused by a PageError of one line.
#include "fuzz_target.hpp"

#include <block_diagram.hpp>
#include <day_file.hpp>
#include <page_error.hpp>

using namespace nanoserve;
using namespace nanoserve::fuzz;

namespace {

template <class Read>
void read(Read read_text) {
    try {
        read_text();
    } catch (const pages::PageError& error) {
        require_one_line(error.what());
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = text_of(data, size);
    read([&] { static_cast<void>(pages::day_map({pages::parse_day("day99_fuzz", text)})); });
    read([&] { static_cast<void>(pages::parse_exercise(text, text)); });
    read([&] {
        const pages::PrintedPool pool = pages::parse_printed_pool(text);
        for (const auto& [letter, sequence] : pool.sequences) {
            static_cast<void>(pages::gather_diagram(pool, letter));
            static_cast<void>(pages::fused_diagram(pool, letter));
        }
    });
    return 0;
}
