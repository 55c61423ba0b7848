// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "day_file.hpp"

#include "page_error.hpp"
#include "text.hpp"

#include <nanoserve/report/atomic_file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace nanoserve::pages {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kKeys[] = {"title", "week", "phase", "builds-on", "adds"};

Fields parse_fields(std::string_view text) {
    Fields fields;
    for (const std::string_view line : split(text, "\n")) {
        if (line.starts_with('#')) {
            continue;
        }
        const auto [key, value] = cut(line, ":");
        if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
            throw PageError(fmt::format("\"{}\" is no line of a day.txt", line));
        }
        if (!fields.emplace(key, value).second) {
            throw PageError(fmt::format("\"{}\" is there twice", key));
        }
    }
    for (const std::string_view key : kKeys) {
        if (!fields.contains(key)) {
            throw PageError(fmt::format("\"{}\" is missing", key));
        }
    }
    return fields;
}

std::string without_prefix(std::string_view name) {
    return std::string(name.starts_with("day") ? name.substr(3) : name);
}

void check_order(const std::vector<Day>& days) {
    for (std::size_t i = 0; i < days.size(); ++i) {
        for (const std::string& number : days[i].builds_on) {
            if (std::none_of(days.begin(), days.begin() + static_cast<std::ptrdiff_t>(i),
                             [&](const Day& day) { return day.number == number; })) {
                throw PageError(fmt::format("day {} builds on day {}, which isn't an earlier one",
                                            days[i].number, number));
            }
        }
    }
}

// A label for dot, broken into lines of about `width` characters.
std::string dot_label(std::string_view text, std::size_t width) {
    std::string label;
    std::size_t column = 0;
    for (const std::string_view word : split(text, " ")) {
        if (column > 0) {
            const bool full = column + word.size() > width;
            label += full ? "\\n" : " ";
            column = full ? 0 : column + 1;
        }
        for (const char character : word) {
            label += character == '"' ? "\\\"" : std::string(1, character);
        }
        column += word.size();
    }
    return label;
}

// The text of a C++ string literal at the beginning of `code`, which may be in several pieces.
std::string string_literal(std::string_view code) {
    std::string text;
    for (code = trimmed(code); code.starts_with('"'); code = trimmed(code)) {
        const std::size_t end = std::min(code.find('"', 1), code.size());  // where none closes it
        text += code.substr(1, end - 1);
        code.remove_prefix(std::min(end + 1, code.size()));
    }
    return text;
}

// The idea of a day without the half-sentence behind a semicolon.
std::string_view first_part(std::string_view adds) {
    return cut(adds, ";").first;
}

}  // namespace

Day parse_day(const std::string& name, std::string_view text) {
    const Fields fields = parse_fields(text);
    Day day{name,
            without_prefix(cut(name, "_").first),
            fields.at("title"),
            fields.at("week"),
            fields.at("phase"),
            {},
            fields.at("adds"),
            {}};
    for (const std::string_view earlier : split(fields.at("builds-on"), " ")) {
        day.builds_on.push_back(without_prefix(earlier));
    }
    return day;
}

Exercise parse_exercise(std::string_view exercise_txt, std::string_view check_cpp) {
    Exercise exercise;
    for (const std::string_view line : split(exercise_txt, "\n")) {
        if (line.starts_with("region:")) {
            exercise.wanted.emplace_back(cut(line, "|").second);
        }
    }
    constexpr std::string_view kBegin = "TEST_CASE(";
    for (std::size_t at = check_cpp.find(kBegin); at != std::string_view::npos;
         at = check_cpp.find(kBegin, at)) {
        at += kBegin.size();
        exercise.behaviours.push_back(string_literal(check_cpp.substr(at)));
    }
    return exercise;
}

std::vector<Day> read_days(const std::filesystem::path& folder) {
    std::vector<Day> days;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::filesystem::path path = entry.path() / "day.txt";
        if (!std::filesystem::exists(path)) {
            continue;
        }
        const std::string name = entry.path().filename().string();
        try {
            days.push_back(parse_day(name, report::read_file(path)));
            if (const auto exercise = entry.path() / "exercise";
                std::filesystem::exists(exercise)) {
                days.back().exercise = parse_exercise(report::read_file(exercise / "exercise.txt"),
                                                      report::read_file(exercise / "check.cpp"));
            }
        } catch (const PageError& error) {
            throw PageError(fmt::format("days/{}/day.txt: {}", name, error.what()));
        }
    }
    std::sort(days.begin(), days.end(),
              [](const Day& a, const Day& b) { return a.number < b.number; });
    check_order(days);
    return days;
}

std::string day_map(const std::vector<Day>& days) {
    std::string text =
        "digraph days {\n"
        "  stylesheet=\"diagram.css\"; rankdir=TB; nodesep=0.15; ranksep=0.3; "
        "bgcolor=transparent;\n"
        "  node [shape=box, style=rounded, fontname=\"DejaVu Sans\", fontsize=11, "
        "margin=\"0.16,0.09\", class=\"a\"];\n"
        "  edge [arrowsize=0.7];\n";
    for (const Day& day : days) {
        text +=
            fmt::format("  day{0} [label=\"Day {0}: {1}\\n{2}\", URL=\"\\ref day{0}\"];\n",
                        day.number, dot_label(day.title, 26), dot_label(first_part(day.adds), 26));
    }
    for (const Day& day : days) {
        for (const std::string& earlier : day.builds_on) {
            text += fmt::format("  day{} -> day{};\n", earlier, day.number);
        }
    }
    return text + "}\n";
}

}  // namespace nanoserve::pages
