#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# day_checklist_test.sh TEST: every day has all that CONTRIBUTING.md asks of a day.
#
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

missing_of() { # missing_of DAY: what the day lacks, one line each
    local folder=$root/days/$1 number=${1#day} item hint bugs
    number=${number%%_*}
    grep -qsE "^// Day $number: ." "$folder/main.cpp" || echo "main.cpp with a line '// Day $number: ...'"
    [[ -s $folder/CMakeLists.txt ]] || echo "CMakeLists.txt"
    for item in title week phase adds builds-on; do
        grep -qs "^$item:" "$folder/day.txt" || echo "$item in day.txt"
    done
    for item in exercise.txt check.cpp account.txt; do
        [[ -s $folder/exercise/$item ]] || echo "exercise/$item"
    done
    for hint in 1 2 3; do
        [[ -s $folder/exercise/hints/$hint.md ]] || echo "exercise/hints/$hint.md"
    done
    bugs=$(grep -cs '^- ' "$folder/exercise/mutants.txt") || true
    [[ ${bugs:-0} -ge 5 ]] || echo "five known bugs in exercise/mutants.txt"
    compgen -G "$root/docs/day-$number-*.md" >/dev/null || echo "a page docs/day-$number-...md"
    grep -qs "^| $number, " "$root/README.md" || echo "a row in README.md"
}

test_each_day_has_all_that_a_day_has() {
    local day missing status=0
    for day in "$root"/days/day*/; do
        missing=$(missing_of "$(basename "$day")")
        if [[ -n $missing ]]; then printf '%s lacks:\n%s\n' "$(basename "$day")" "$missing" && status=1; fi
    done
    return "$status"
}

test_a_day_that_is_only_a_folder_lacks_everything() {
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mkdir -p "$root/days/day99_empty" "$root/docs"
    [[ $(missing_of day99_empty | wc -l) == 16 ]]
}

"$1"
