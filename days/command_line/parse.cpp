// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "parse.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace nanoserve::days {
namespace {

// "-0" to "-9..." too: the range of an option refuses them in its own words.
bool is_decimal(std::string_view text) {
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
    return !text.empty() && std::ranges::all_of(text, is_digit) &&
           (text.size() == 1 || text.front() != '0');
}

bool has_empty_item(std::string_view list, char delimiter) {
    return list.starts_with(delimiter) || list.ends_with(delimiter) ||
           list.find(std::string(2, delimiter)) != std::string_view::npos;
}

// CLI11 drops the empty items of a list before anybody else sees it; so the words are asked.
void require_whole_lists(const CLI::App& app, int argc, const char* const* argv) {
    const CLI::Option* option = nullptr;
    for (int i = 1; i < argc; ++i) {
        std::string_view value = argv[i];
        if (value.starts_with("--")) {
            const std::size_t name_end = std::min(value.find('='), value.size());
            option = app.get_option_no_throw(std::string(value.substr(0, name_end)));
            value.remove_prefix(std::min(name_end + 1, value.size()));
        }
        if (option != nullptr && option->get_delimiter() != '\0' &&
            has_empty_item(value, option->get_delimiter())) {
            throw CLI::ValidationError(option->get_name(),
                                       "\"" + std::string(value) + "\" has an item that is empty");
        }
    }
}

void require_plain_values(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        const std::string type = option->get_type_name();
        const bool is_number = type.starts_with("INT") || type.starts_with("UINT");
        for (const std::string& value : option->results()) {
            if (value.empty()) {
                throw CLI::ValidationError(option->get_name(), "its value is empty");
            }
            if (is_number && !is_decimal(value)) {
                throw CLI::ValidationError(option->get_name(),
                                           "Value " + value + " is no number in decimal digits");
            }
        }
    }
}

}  // namespace

void parse(CLI::App& app, int argc, const char* const* argv) {
    app.parse(argc, argv);
    require_whole_lists(app, argc, argv);
    require_plain_values(app);
}

bool parse_or_help(CLI::App& app, int argc, const char* const* argv) {
    try {
        parse(app, argc, argv);
        return true;
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return false;
    }
}

}  // namespace nanoserve::days
