// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What each day says of itself in `days/dayNN_name/day.txt`, one "key: value" a line, '#' begins a
// comment; and what its exercise asks for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::pages {

/// What a day asks the learner to write.
struct Exercise {
    std::vector<std::string> wanted;      ///< what is left out of the stub, piece by piece
    std::vector<std::string> behaviours;  ///< that the check asks for, in order

    bool operator==(const Exercise&) const = default;
};

struct Day {
    std::string name;                    ///< its folder, "day19_fused"
    std::string number;                  ///< "19"
    std::string title;                   ///< a word or two
    std::string week;                    ///< "5"
    std::string phase;                   ///< "2, paged memory"
    std::vector<std::string> builds_on;  ///< numbers of earlier days
    std::string adds;                    ///< the one idea of the day
    Exercise exercise;                   ///< empty where the day has none

    bool operator==(const Day&) const = default;
};

/// The day called `name`, as `text` describes it. Throws `PageError` naming line or key for a line
/// that is no "key: value", an unknown key, and a key that is missing or there twice.
[[nodiscard]] Day parse_day(const std::string& name, std::string_view text);

/// The exercise of a day's folder: the lines "region: NAME | WANTED" of exercise.txt, and the names
/// of the test cases of check.cpp.
[[nodiscard]] Exercise parse_exercise(std::string_view exercise_txt, std::string_view check_cpp);

/// All days of a folder that have such a file, by number. Throws `PageError` naming the file for
/// what `parse_day` refuses and for a day that builds on one that isn't earlier.
[[nodiscard]] std::vector<Day> read_days(const std::filesystem::path& folder);

/// The map of the days as a graph for dot: an arrow from each day to those that build on it.
[[nodiscard]] std::string day_map(const std::vector<Day>& days);

}  // namespace nanoserve::pages
