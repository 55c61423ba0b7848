#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# bad_input_test.sh BUILD ROOT test_NAME: the tests that docs/bad-input.md names are there to be run.
#
# shellcheck disable=SC2317,SC2016 # the tests are called by name; the backticks are those of Markdown
set -euo pipefail

build=$1 page=$2/docs/bad-input.md tests=$2/tests

# The names of a test of several types end with the type. ctest knows no gpu test in a build without CUDA: then the
# sources are asked, in which a name may be in pieces.
known_tests() {
    local known
    known=$(ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | sed 's/ - [A-Za-z]*$//')
    printf '%s\n' "$known"
    if [[ $known != *gpu/* ]]; then
        cat "$tests"/kernels/*.c* "$tests"/days/driver_threads_test.cpp | tr '\n' ' ' | sed 's/" *"//g; s/TEST_CASE( *"/\n/g' | sed 's/".*//; s|^|gpu/|'
    fi
}

export LC_ALL=C # one order for sort and comm

test_every_test_that_the_page_names_exists() {
    local named unknown
    named=$(grep -oE '`(pure|gpu)/[^`]+`' "$page" | tr -d '`' | sort -u)
    [[ $(wc -l <<<"$named") -gt 100 ]] || { echo "found only $(wc -l <<<"$named") names" && exit 1; }
    unknown=$(comm -23 <(printf '%s\n' "$named") <(known_tests | sort -u))
    [[ -z $unknown ]] || { printf 'no such test: %s\n' "$unknown" && exit 1; }
}

test_every_row_of_the_page_names_a_test() {
    local rows bare
    rows=$(grep '^|' "$page" | grep -vE '^\|(---| what is wrong)')
    bare=$(grep -vE '`(pure|gpu)/[^`]+` \|$' <<<"$rows") || true
    [[ -z $bare ]] || { printf 'without a test: %s\n' "$bare" && exit 1; }
}

"$3"
