// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// make_pages: fills the measured figures into the course's pages.
//
//   make_pages write ROOT FOLDER PAGE...
//       the pages for Doxygen, in reading order, and their diagrams for dot
//   make_pages update ROOT PAGE...
//       fills the kept slots of a page in place: the README
//   make_pages check PAGE...
//       finds performance figures that somebody typed
//
// ROOT is the repository, with its data/ and days/. Exit status: 0 fine, 1 something is wrong with
// a page (each line says where), 2 wrong usage, 3 a file could not be read or written, or standard
// output not written.
#include "fill_page.hpp"
#include "page_error.hpp"
#include "page_turns.hpp"
#include "typed_figures.hpp"

#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/program_end.hpp>
#include <nanoserve/report/standard_error.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::pages;

namespace {

using Paths = std::span<const std::filesystem::path>;

void complain(const std::filesystem::path& page, std::size_t line, std::string_view text) {
    report::print_stderr(fmt::format("{}:{}: {}\n", page.string(), line, text));
}

// The page with its slots filled, or nothing, having said why.
std::optional<FilledPage> filled(const std::filesystem::path& path, const std::string& page,
                                 Medium medium, const PageSources& sources) {
    FilledPage filled = fill_page(page, medium, sources);
    for (const Problem& problem : filled.problems) {
        complain(path, problem.line, problem.text);
    }
    return filled.problems.empty() ? std::optional(std::move(filled)) : std::nullopt;
}

bool write_pages(const std::filesystem::path& root, const std::filesystem::path& folder,
                 Paths paths) {
    DataFolder data(root / "data");
    const std::vector<Day> days = read_days(root / "days");
    const PageSources sources{data, days, root / "docs" / "output"};
    std::vector<std::string> pages;
    std::vector<std::optional<PageTitle>> titles = {std::nullopt};
    for (const std::filesystem::path& path : paths) {
        pages.push_back(report::read_file(path));
        titles.emplace_back(page_title(pages.back()));
    }
    titles.emplace_back(std::nullopt);
    bool fine = true;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        const auto page = filled(paths[i], pages[i], Medium::site, sources);
        fine = fine && page.has_value();
        if (!page) {
            continue;
        }
        report::write_file_atomically(folder / paths[i].filename(),
                                      page->text + page_turns(titles[i], titles[i + 2]));
        for (const auto& [name, dot] : page->diagrams) {
            report::write_file_atomically(folder / name, dot);
        }
    }
    if (!fine) {
        report::print_stderr(
            "The pages are written for the recorded files. Are yours from a run of "
            "your own? git checkout data brings the recorded ones back.\n");
    }
    return fine;
}

bool update_pages(const std::filesystem::path& root, Paths paths) {
    DataFolder data(root / "data");
    const std::vector<Day> days = read_days(root / "days");
    bool fine = true;
    for (const std::filesystem::path& path : paths) {
        const std::string page = report::read_file(path);
        const auto updated =
            filled(path, page, Medium::readme, {data, days, root / "docs" / "output"});
        fine = fine && updated.has_value();
        if (updated && updated->text != page) {
            report::write_file_atomically(path, updated->text);
            fmt::print("updated {}\n", path.string());
        }
    }
    return fine;
}

bool check_pages(Paths paths) {
    bool fine = true;
    for (const std::filesystem::path& path : paths) {
        for (const TypedFigure& figure : find_typed_figures(report::read_file(path))) {
            complain(path, figure.line,
                     fmt::format("\"{}\" is typed: take it from data/ by key, or say what it is "
                                 "({{{{defined: {}}}}}, predicted, arithmetic, cited)",
                                 figure.text, figure.text));
            fine = false;
        }
    }
    return fine;
}

int run(int argc, char** argv) {
    const std::vector<std::filesystem::path> words(argv + 1, argv + argc);
    const auto is = [&](const char* word, std::size_t least) {
        return words.size() >= least && words[0] == word;
    };
    const Paths paths = words;
    if (is("write", 4)) {
        return write_pages(words[1], words[2], paths.subspan(3)) ? 0 : 1;
    }
    if (is("update", 3)) {
        return update_pages(words[1], paths.subspan(2)) ? 0 : 1;
    }
    if (is("check", 2)) {
        return check_pages(paths.subspan(1)) ? 0 : 1;
    }
    report::print_stderr(
        "make_pages write ROOT FOLDER PAGE... | update ROOT PAGE... | check PAGE...\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program("make_pages", run(argc, argv));
    } catch (const report::FileError& error) {
        return report::fail_program("make_pages", 3, error);
    } catch (const std::exception& error) {
        return report::fail_program("make_pages", 1, error);
    }
}
