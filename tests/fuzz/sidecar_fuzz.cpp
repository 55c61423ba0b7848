// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any text as a sidecar: one that survives the way through a file, or a FileError of one line.
#include "fuzz_target.hpp"

#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/sidecar.hpp>

using namespace nanoserve;
using namespace nanoserve::fuzz;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    report::Sidecar sidecar;
    try {
        sidecar = report::parse_sidecar(text_of(data, size));
    } catch (const report::FileError& error) {
        require_one_line(error.what());
        return 0;
    }
    const std::string written = report::to_json(sidecar);
    // A null sample is NaN in memory, which equals nothing: the bytes are compared instead.
    require_property(report::to_json(report::parse_sidecar(written)) == written,
                     "what is written reads back and is written as the same bytes");
    return 0;
}
