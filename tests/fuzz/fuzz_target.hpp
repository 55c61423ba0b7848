// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What every fuzz target shares: the entry point that libFuzzer and run_corpus.cpp call, and a
// check that no build leaves out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Called with one input after another. Returns 0; a property that does not hold aborts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace nanoserve::fuzz {

/// The input as text.
[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return size == 0 ? std::string_view()
                     : std::string_view(reinterpret_cast<const char*>(data), size);
}

/// Aborts unless `holds`; the fuzzer then keeps the input.
inline void require_property(bool holds, std::string_view property) {
    if (!holds) {
        std::fprintf(stderr, "property broken: %.*s\n", static_cast<int>(property.size()),
                     property.data());
        std::abort();
    }
}

/// An error is a line for a terminal, whatever the input was.
inline void require_one_line(std::string_view message) {
    require_property(!message.empty() && message.find('\n') == std::string_view::npos,
                     "an error is one line");
}

}  // namespace nanoserve::fuzz
