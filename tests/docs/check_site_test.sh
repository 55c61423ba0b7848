#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# check_site_test.sh CHECK_SITE test_NAME: a small site that is fine, and what the check says when one thing
# of it is broken. Skipped where there is no Python; the last tests where there is no Chromium.
#
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail

check_site=$1
command -v python3 >/dev/null || exit 4
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT

fail() { # fail LINE
    printf 'FAILED: %s\n' "$1" && exit 1
}

body() { # body TEXT: writes the start page with this text
    printf '<html><head><script src="a.js"></script></head><body>%s</body></html>\n' "$1" >"$site/index.html"
}

make_site() { # two pages, a script, a picture, a diagram
    body '<a href="b.html#here">b</a> <img src="p.svg"/> <iframe src="d.svg"></iframe> <a href="https://example.org/">out</a>'
    printf '<html><body><h1 id="here">B</h1><a href="index.html">back</a></body></html>\n' >"$site/b.html"
    printf 'var menu = ["index.html", "b.html#here"]\n' >"$site/a.js"
    printf '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>\n' >"$site/p.svg"
    printf '<?xml version="1.0"?>\n<?xml-stylesheet href="d.css" type="text/css"?>\n' >"$site/d.svg"
    printf '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><a xlink:href="b.html"/></svg>\n' >>"$site/d.svg"
    printf 'rect { fill: red }\n' >"$site/d.css"
}

check() { # check [ARGS]: sets $status and $output
    status=0
    output=$(python3 "$check_site" "$site" "$@" 2>&1) || status=$?
}

expect_fine() {
    check "$@"
    [[ $status == 0 && -z $output ]] || fail "wanted nothing, got $status: $output"
}

expect_problem() { # expect_problem TEXT [ARGS]: exactly one line, with this text
    check "${@:2}"
    [[ $status == 1 && $output == *"$1"* ]] || fail "wanted '$1', got $status: $output"
    [[ $(grep -c '' <<<"$output") == 1 ]] || fail "wanted one line: $output"
}

expect_in_browser() { # expect_in_browser TEXT: nothing without a browser, this with one
    local browser
    browser=$(command -v chromium) || exit 4
    expect_fine
    expect_problem "$1" --browser "$browser"
}

test_a_whole_site_passes() {
    expect_fine
}

test_a_link_to_a_missing_page_is_found() {
    body '<a href="c.html">c</a>'
    expect_problem 'index.html: links to c.html, which is missing'
}

test_a_link_to_a_missing_anchor_is_found() {
    body '<a href="b.html#there">b</a>'
    expect_problem 'index.html: links to b.html#there, which has no such anchor'
}

test_a_dead_anchor_on_the_same_page_is_found() {
    body '<a href="#nowhere">up</a>'
    expect_problem 'index.html: links to #nowhere, which has no such anchor'
}

test_a_missing_picture_is_found() {
    rm "$site/p.svg"
    expect_problem 'index.html: loads p.svg, which is missing'
}

test_a_missing_script_is_found() {
    rm "$site/a.js"
    expect_problem 'index.html: loads a.js, which is missing'
}

test_a_picture_from_a_network_is_found() {
    body '<img src="https://example.org/p.png"/>'
    expect_problem 'which needs a network'
}

test_a_dead_link_in_the_search_index_is_found() {
    mkdir "$site/search"
    printf "var searchData=[['x',['../b.html#gone',1,'x']]]\n" >"$site/search/all_0.js"
    expect_problem 'search/all_0.js: links to ../b.html#gone, which has no such anchor'
}

test_a_dead_link_in_a_diagram_is_found() {
    sed -i 's/b.html/c.html/' "$site/d.svg"
    expect_problem 'd.svg: links to c.html, which is missing'
}

test_a_missing_style_sheet_of_a_diagram_is_found() {
    rm "$site/d.css"
    expect_problem 'd.svg: links to d.css, which is missing'
}

test_a_missing_start_page_is_found() {
    printf '<html></html>\n' >"$site/b.html"
    rm "$site/index.html" "$site/a.js"
    expect_problem 'there is no start page'
}

test_a_formula_without_mathjax_is_found() {
    body '\\(x\\)'
    expect_problem 'has formulas, and no MathJax of its own'
}

test_a_formula_drawn_over_a_network_is_found() {
    printf '<html><script src="https://example.org/MathJax.js"></script>\\(x\\)</html>\n' >"$site/index.html"
    check
    [[ $output == *'no MathJax of its own'* ]] || fail "$output"
}

test_a_missing_file_of_mathjax_is_found() {
    local name
    printf '<html><script>extensions: ["tex2jax.js"],\n jax: ["input/TeX","output/SVG"]</script><script src="mathjax/MathJax.js"></script>\\(x\\)</html>\n' \
        >"$site/index.html"
    for name in MathJax.js extensions/tex2jax.js extensions/MathEvents.js jax/input/TeX/config.js jax/input/TeX/jax.js \
        jax/output/SVG/config.js jax/output/SVG/jax.js jax/element/mml/jax.js jax/output/SVG/fonts/TeX/fontdata.js \
        jax/output/SVG/fonts/TeX/Main/Regular/Main.js jax/output/SVG/fonts/TeX/Math/Italic/Main.js; do
        mkdir -p "$(dirname "$site/mathjax/$name")"
        touch "$site/mathjax/$name"
    done
    expect_fine
    rm "$site/mathjax/extensions/tex2jax.js"
    expect_problem "needs MathJax's extensions/tex2jax.js, which is missing"
}

test_in_a_browser_a_whole_site_passes() {
    local browser
    browser=$(command -v chromium) || exit 4
    expect_fine --browser "$browser"
}

test_in_a_browser_an_error_of_a_script_is_found() {
    printf 'nothing.here()\n' >"$site/a.js"
    expect_in_browser 'console: "Uncaught ReferenceError'
}

test_in_a_browser_a_page_that_scrolls_sideways_is_found() {
    body '<div style="width:600px">wide</div>'
    expect_in_browser 'index.html: scrolls sideways'
}

test_in_a_browser_a_broken_picture_is_found() {
    printf 'no picture\n' >"$site/p.svg"
    expect_in_browser 'index.html: shows no picture for p.svg'
}

test_in_a_browser_a_search_that_finds_nothing_is_found() {
    body '<input id="MSearchField"/><iframe name="MSearchResults" src="b.html"></iframe>'
    printf 'var indexSectionsWithContent = {0: "a"}, searchBox = {Search() {}}\n' >"$site/a.js"
    expect_in_browser 'index.html: finds nothing by its search'
}

make_site
"$2"
