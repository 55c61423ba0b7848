#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# docs_test.sh MAKE_PAGES ROOT test_NAME: what the page maker does as a program, on pages made here and on
# the course's own.
#
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail

make_pages=$1 root=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { # fail LINE
    printf 'FAILED: %s\n' "$1" && exit 1
}

run() { # run ARGS: sets $status and $output
    status=0
    output=$("$make_pages" "$@" 2>&1) || status=$?
}

expect() { # expect STATUS TEXT
    [[ $status == "$1" ]] || fail "wanted status $1, got $status: $output"
    [[ $output == *"$2"* ]] || fail "wanted '$2' in: $output"
}

test_no_page_and_no_readme_has_a_typed_performance_figure() {
    local pages
    mapfile -t pages < <(find "$root/docs" -name '*.md' -o -name '*.dox' -o -name '*.dot' -o -name '*.txt' | grep -v CMakeLists)
    [[ ${#pages[@]} -gt 5 ]] || fail "found only ${#pages[@]} pages"
    run check "$root/README.md" "${pages[@]}"
    expect 0 ''
}

test_every_path_that_doxygen_gets_may_hold_a_space() {
    local bare
    bare=$(sed 's/"[^"]*"//g' "$root/docs/Doxyfile.in" | grep -n '^[A-Z_]* *[+=].*@[A-Za-z_]*@' |
        grep -vE ':(PROJECT_|MATHJAX_RELPATH)') || true # these are no paths of the machine
    [[ -z $bare ]] || fail "without quotes: $bare"
}

test_a_typed_figure_in_a_page_is_an_error_with_its_line() {
    printf '# A page {#a}\n\nThe read takes 4.1 µs.\n' >"$folder/a.md"
    run check "$folder/a.md"
    expect 1 'a.md:3: "4.1 µs" is typed'
}

test_an_unknown_key_is_an_error_with_its_line() {
    mkdir "$folder/data" "$folder/days" "$folder/out"
    printf '# A page {#a}\n\n{{day-99: best_us}}\n' >"$folder/a.md"
    run write "$folder" "$folder/out" "$folder/a.md"
    expect 1 'a.md:3: there is no data/day-99.csv'
}

test_pages_are_written_with_links_to_their_neighbours() {
    mkdir "$folder/data" "$folder/days" "$folder/out"
    printf '# A page {#a}\n\n{{map}}' >"$folder/a.md"
    printf '# B page {#b}\n' >"$folder/b.md"
    run write "$folder" "$folder/out" "$folder/a.md" "$folder/b.md"
    expect 0 ''
    grep -q '@ref b "B page"' "$folder/out/a.md" || fail "a.md does not lead on"
    grep -q '@ref a "A page"' "$folder/out/b.md" || fail "b.md does not lead back"
    grep -q '^digraph days' "$folder/out/days.dot" || fail "no map of the days"
}

test_a_page_without_a_title_is_an_error() {
    mkdir "$folder/data" "$folder/days" "$folder/out"
    printf 'text\n' >"$folder/a.md"
    run write "$folder" "$folder/out" "$folder/a.md"
    expect 1 'a page begins with'
}

test_the_readme_is_filled_in_place_and_only_once() {
    mkdir "$folder/data" "$folder/days"
    printf '<!-- {{days}} -->old<!-- /-->\n' >"$folder/README.md"
    run update "$folder" "$folder/README.md"
    expect 0 'updated'
    grep -q 'what it adds' "$folder/README.md" || fail "no table in the README"
    run update "$folder" "$folder/README.md"
    [[ -z $output ]] || fail "updated twice"
}

test_a_page_that_can_not_be_read_or_written_is_status_3() {
    mkdir "$folder/data" "$folder/days"
    run check "$folder/missing.md"
    expect 3 'make_pages: cannot read'
    run update "$folder" "$folder"
    expect 3 'Is a directory'
    printf '# A page {#a}\n' >"$folder/a.md"
    run write "$folder" "$folder/nowhere" "$folder/a.md"
    expect 3 'make_pages: cannot write'
}

test_a_call_without_a_known_word_shows_the_usage() {
    run paint
    expect 2 'make_pages write ROOT'
    run write "$folder"
    expect 2 'make_pages write ROOT'
}

"$3"
