// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "fill_page.hpp"

#include "block_diagram.hpp"
#include "figure_table.hpp"
#include "figure_text.hpp"
#include "page_error.hpp"
#include "slots.hpp"
#include "text.hpp"
#include "typed_figures.hpp"

#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace nanoserve::pages {
namespace {

const Day& find_day(const std::vector<Day>& days, std::string_view number) {
    const auto found = std::find_if(days.begin(), days.end(),
                                    [&](const Day& day) { return day.number == number; });
    if (found == days.end()) {
        throw PageError(fmt::format("there is no day {}", number));
    }
    return *found;
}

std::string step(std::string_view what, std::string_view command, std::string_view more = "") {
    return fmt::format(
        "<div class=\"step\"><span class=\"what\">{}</span> <code>{}</code>{}</div>\n", what,
        command, more);
}

// The first screen of a day's page: where in the course it is, and what to type.
std::string day_head(const Day& day) {
    std::string text = fmt::format(
        "<div class=\"day\">\n<div class=\"where\">Day {} · week {} · phase {}</div>\n"
        "<div class=\"adds\">Added today: {}.</div>\n",
        day.number, day.week, day.phase, day.adds);
    text += step("run it", "./course run day" + day.number);
    if (!day.exercise.behaviours.empty()) {
        text += step("write it yourself", "./course start day" + day.number);
        text +=
            step("first red test", "./course check day" + day.number,
                 fmt::format(" <span class=\"test\">{}</span>", day.exercise.behaviours.front()));
    }
    return text + step("the program", fmt::format("days/{}/main.cpp", day.name)) + "</div>\n";
}

std::string bullets(const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) {
        text += fmt::format("- {}\n", item);
    }
    return text;
}

// Doxygen begins a new list where a number comes again.
std::string numbered(const std::vector<std::string>& items) {
    std::string text;
    for (int number = 0; const std::string& item : items) {
        text += fmt::format("{}. {}\n", ++number, item);
    }
    return text;
}

// What a day asks the learner to write; nothing where it has no exercise.
std::string exercise_text(const Day& day) {
    if (day.exercise.behaviours.empty()) {
        return "";
    }
    return fmt::format(
        "# Write it yourself\n\n"
        "```\n./course start day{0}\n./course check day{0}\n./course hint day{0}\n```\n\n"
        "The first writes a stub into `work/`: this day's code without its heart. You "
        "write:\n\n{1}\n"
        "The second builds the library with your file in its place and says which of these "
        "behaviours it has:\n\n{2}\n"
        "The third gives one more hint each time. @ref exercises tells the rest, and "
        "@ref exercise{0} \"the account\" of this check lists the bugs that it is proven to "
        "catch.\n",
        day.number, bullets(day.exercise.wanted), numbered(day.exercise.behaviours));
}

std::string days_table(const std::vector<Day>& days, Medium medium) {
    std::string text = "| day | what it adds | run it |\n| --- | --- | --- |\n";
    for (const Day& day : days) {
        const std::string name =
            medium == Medium::site ? fmt::format("@ref day{0} \"{0}, {1}\"", day.number, day.title)
                                   : fmt::format("{}, {}", day.number, day.title);
        text += fmt::format("| {} | {} | `./course run day{}` |\n", name, day.adds, day.number);
    }
    return text;
}

// A figure must not be torn from its unit at the end of a line.
std::string unbroken(std::string text) {
    for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at)) {
        text.replace(at, 1, "\u00a0");
    }
    return text;
}

class PageFiller {
  public:
    PageFiller(Medium medium, const PageSources& sources)
        : medium_(medium), data_(sources.data), sources_(sources) {}

    FilledPage fill(std::string_view page) {
        FilledPage filled;
        for (const Piece& piece : split_page(page)) {
            if (!piece.is_slot) {
                filled.text += piece.text;
                continue;
            }
            try {
                filled.text += fill_slot(piece);
            } catch (const PageError& error) {
                filled.problems.push_back({piece.line, error.what()});
            } catch (const report::FileError& error) {
                filled.problems.push_back({piece.line, error.what()});
            }
        }
        for (const auto& [file, line] : first_use_) {
            if (!sources_shown_.contains(file)) {
                filled.problems.push_back(
                    {line, fmt::format("figures of data/{0}.csv are shown, but not their machine "
                                       "and date: add {{{{source {0}}}}}",
                                       file)});
            }
        }
        filled.diagrams = diagrams_;
        return filled;
    }

  private:
    std::string fill_slot(const Piece& piece) {
        if (medium_ == Medium::site) {
            return value(piece);
        }
        if (!piece.is_kept_slot) {
            throw PageError("here a slot is \"<!-- {{...}} -->text<!-- /-->\"");
        }
        const std::string_view head =
            piece.text.substr(0, static_cast<std::size_t>(piece.kept.data() - piece.text.data()));
        const std::string_view tail = piece.text.substr(head.size() + piece.kept.size());
        std::string text = value(piece);
        if (text.ends_with('\n')) {
            text = "\n" + text;
        }
        return std::string(head) + text + std::string(tail);
    }

    std::string value(const Piece& piece) {
        const std::string_view query = piece.query;
        if (const std::string_view typed = typed_text(query); !typed.empty()) {
            return unbroken(std::string(typed));
        }
        if (piece.is_kept_slot && is_typed_kind(query)) {
            return std::string(piece.kept);
        }
        if (query.starts_with("table ")) {
            const std::string_view table = query.substr(6);
            sources_shown_.insert(parse_cell(cut(table, "\n").first).file);
            return figure_table(data_, table);
        }
        if (query.starts_with("source ")) {
            const std::string file(trimmed(query.substr(7)));
            sources_shown_.insert(file);
            return source_text(data_, file);
        }
        if (query.starts_with("day ")) {
            return day_head(find_day(sources_.days, trimmed(query.substr(4))));
        }
        if (query.starts_with("exercise ")) {
            return exercise_text(find_day(sources_.days, trimmed(query.substr(9))));
        }
        if (query == "days") {
            return days_table(sources_.days, medium_);
        }
        if (query == "map") {
            return dot_file("days.dot", day_map(sources_.days),
                            "the days, and which builds on which");
        }
        if (query.starts_with("diagram ")) {
            return diagram(query.substr(8));
        }
        const FigureQuery figure = parse_figure(query);
        std::string text = unbroken(figure_text(data_, figure));
        for (const CellQuery& cell : figure.cells) {
            first_use_.emplace(cell.file, piece.line);
        }
        return text;
    }

    std::string dot_file(const std::string& name, std::string dot, std::string_view caption) {
        diagrams_[name] = std::move(dot);
        return fmt::format("@dotfile {} \"{}\"\n", name, caption);
    }

    // "gather day-16-blocks A: CAPTION"
    std::string diagram(std::string_view query) {
        const auto [what, caption] = cut(query, ":");
        const std::vector<std::string_view> words = split(what, " ");
        if (words.size() != 3 || (words[0] != "gather" && words[0] != "fused")) {
            throw PageError("a diagram is \"diagram gather|fused FILE SEQUENCE: CAPTION\"");
        }
        const PrintedPool pool = parse_printed_pool(
            report::read_file(sources_.outputs / fmt::format("{}.txt", words[1])));
        const std::string letter(words[2]);
        return dot_file(
            fmt::format("{}-{}-{}.dot", words[1], words[0], letter),
            words[0] == "gather" ? gather_diagram(pool, letter) : fused_diagram(pool, letter),
            caption);
    }

    Medium medium_;
    DataFolder& data_;
    const PageSources& sources_;
    std::map<std::string, std::string> diagrams_;
    std::map<std::string, std::size_t> first_use_;  // a file, and the line that first shows it
    std::set<std::string> sources_shown_;
};

}  // namespace

FilledPage fill_page(std::string_view page, Medium medium, const PageSources& sources) {
    return PageFiller(medium, sources).fill(page);
}

}  // namespace nanoserve::pages
