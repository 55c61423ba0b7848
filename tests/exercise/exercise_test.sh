#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# exercise_test.sh TEST: the words of the days and of their exercises are all there. Nothing is built; prove.sh
# builds.
#
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/days/exercise.sh"

fail() { # fail LINE
    echo "FAILED: $1"
    exit 1
}

days() { for day in "$root"/days/day*/; do basename "$day"; done; }

exercises() {
    local day
    for day in $(days); do if [[ -d $root/days/$day/exercise ]]; then echo "$day"; fi; done
}

test_each_day_says_what_it_adds_and_what_it_builds_on() {
    local day key other file others
    for day in $(days); do
        file=$root/days/$day/day.txt
        for key in title week phase adds; do
            grep -qE "^$key: ." "$file" || fail "$file says nothing about '$key'"
        done
        read -ra others < <(sed -n 's/^builds-on://p' "$file")
        for other in "${others[@]}"; do
            compgen -G "$root/days/${other}_*" >/dev/null || fail "$file builds on $other, which is no day"
        done
        grep -q '^builds-on:' "$file" || fail "$file does not say what the day builds on"
    done
}

test_each_exercise_has_three_hints_and_none_is_empty() {
    local day number
    for day in $(exercises); do
        for number in 1 2 3; do
            grep -q '[a-z]' "$root/days/$day/exercise/hints/$number.md" || fail "$day: hint $number says nothing"
        done
    done
}

test_each_stub_throws_once_for_each_region_and_is_no_wider_than_the_library() {
    local day source stub wanted thrown
    for day in $(exercises); do
        stub=$(while read -r source; do cut_regions "$day" "$source" stub; done < <(exercise_field "$day" source))
        wanted=$(exercise_field "$day" region | wc -l)
        thrown=$(grep -c "\"implement on Day ${day:3:2}: " <<<"$stub") || true
        [[ $wanted -gt 0 && $wanted == "$thrown" ]] || fail "$day: $wanted regions, but the stub throws $thrown times"
        if grep -E '^.{101}' <<<"$stub"; then fail "$day: a line of the stub is longer than 100 columns"; fi
    done
}

make_root() { # a made-up repository with one day
    local made
    made=$(mktemp -d)
    mkdir -p "$made/days/day01_first/exercise"
    cp "$root/days/cut_regions.awk" "$made/days/"
    root=$made
    trap 'rm -rf "$root"' EXIT
}

test_a_region_without_an_end_is_an_error() {
    make_root
    printf 'region: a | write it\n' >"$root/days/day01_first/exercise/exercise.txt"
    printf '//! [a]\nint a;\n' >"$root/a.cpp"
    ! cut_regions day01_first a.cpp stub >"$root/out" 2>"$root/err" || fail "wanted an error"
    grep -q 'a.cpp: region \[a\] has no end' "$root/err" || fail "wanted its name"
}

test_an_empty_stub_returns_nothing_where_a_value_is_due() {
    make_root
    printf 'region: a | write it\nregion: b | write it\n' >"$root/days/day01_first/exercise/exercise.txt"
    printf '//! [a]\nint f() {\n    if (x) {\n        return 1;\n    }\n    return 2;\n}\n//! [a]\n' >"$root/a.cpp"
    printf '//! [b]\nvoid g() {\n    if (x) {\n        return;\n    }\n    x = 1;\n}\n//! [b]\n' >>"$root/a.cpp"
    diff <(printf '//! [a]\nint f() {\n    return {};\n}\n//! [a]\n//! [b]\nvoid g() {\n}\n//! [b]\n') \
        <(cut_regions day01_first a.cpp empty) || fail "wanted these lines"
}

"$1"
