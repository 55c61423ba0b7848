// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any text as a name or a number: read as it is written, or refused.
#include "fuzz_target.hpp"

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/model/dtype.hpp>
#include <nanoserve/model/model_config.hpp>
#include <nanoserve/report/number_text.hpp>

#include <stdexcept>
#include <string>

using namespace nanoserve;
using namespace nanoserve::fuzz;

namespace {

template <class Read>
void read_name(std::string_view text, Read read) {
    try {
        require_property(read() == text, "a name is written as it was read");
    } catch (const std::invalid_argument& error) {
        require_property(error.what()[0] != '\0', "a refusal says why");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = text_of(data, size);
    read_name(text, [&] { return to_string(parse_dtype(text)); });
    read_name(text, [&] { return to_string(parse_instruction_set(text)); });
    read_name(text, [&] { return find_model(text).name; });
    if (const auto number = report::parse_double(text)) {
        const std::string exact = report::exact_text(*number);
        require_property(report::parse_double(exact) == number, "a number reads back as itself");
        static_cast<void>(report::digits_text(*number));
        static_cast<void>(report::duration_text(*number));
    }
    if (const auto number = report::parse_int64(text)) {
        require_property(report::parse_int64(std::to_string(*number)) == number,
                         "a whole number reads back as itself");
    }
    return 0;
}
