// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any text as a result file: rows that survive the way through a file, or a FileError of one line.
#include "fuzz_target.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/table.hpp>

using namespace nanoserve;
using namespace nanoserve::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<report::ReadRow> rows;
    try {
        rows = report::parse_csv(text_of(data, size));
    } catch (const report::FileError& error) {
        require_one_line(error.what());
        return 0;
    }
    const std::string written = report::to_csv(rows);
    const std::vector<report::ReadRow> again = report::parse_csv(written);
    require_property(again == rows, "what is written reads back as the same rows");
    require_property(report::to_csv(again) == written,
                     "the same rows are written as the same bytes");
    static_cast<void>(report::format_table(rows));
    static_cast<void>(report::markdown_table(rows));
    return 0;
}
