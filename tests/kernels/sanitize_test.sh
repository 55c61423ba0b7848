#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# sanitize_test.sh TEST: runs sanitize.sh with a program and a compute-sanitizer that are scripts.
set -euo pipefail

script=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/sanitize.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir bin
PATH=$scratch/bin:$PATH

# The program has three cases. Under racecheck the second is never done, under memcheck the third is wrong.
cat >bin/program <<'END'
#!/usr/bin/env bash
if [[ $1 == --list-tests ]]; then
    printf 'first case\nsecond case found late\nthird case\n' | grep "${*: -1}" || true
fi
END
cat >bin/compute-sanitizer <<'END'
#!/usr/bin/env bash
case "$2 ${*: -1}" in
    'racecheck 1') [[ -e slow ]] && exec sleep 60 ;;
    'memcheck 2') [[ -e faulty ]] && echo 'an invalid read' && exit 9 ;;
    'memcheck 0')
        if [[ -e idle ]]; then
            cat idle
            echo '========= Error: Target application terminated before first instrumented API call'
            exit 255
        fi
        ;;
esac
[[ -e no_gpu ]] && exit 4
printf '%s\n' "$*" >>tools.txt
END
chmod +x bin/*

status_of() { local status=0; "$@" >out.txt 2>err.txt || status=$?; echo "$status"; }
expect() { # expect WHAT IS SHOULD
    [[ $2 == "$3" ]] || { printf '%s is %s, should be %s\n' "$1" "$2" "$3"; cat out.txt err.txt; exit 1; }
}
says() { grep -qF -- "$2" "$1" || { printf '%s does not say: %s\n' "$1" "$2"; cat "$1"; exit 1; }; }

test_every_case_runs_under_every_tool_alone() {
    expect status "$(status_of "$script" --jobs 2 program case)" 0
    expect lines "$(grep -c 'of 3 clean' out.txt)" 4
    says out.txt 'racecheck     3 of 3 clean'
    expect runs "$(wc -l <tools.txt)" 12
    expect shards "$(grep -c -- '--tool initcheck.*program case --shard-count 3 --shard-index' tools.txt)" 3
    expect indices "$(grep -- '--tool synccheck' tools.txt | sed 's/.* //' | sort | paste -sd ' ')" '0 1 2'
}

test_what_a_tool_finds_is_named_and_fails() {
    touch faulty
    expect status "$(status_of "$script" --jobs 1 program case)" 1
    says out.txt 'memcheck      2 of 3 clean'
    says out.txt 'memcheck found something: third case'
    says out.txt 'an invalid read'
}

test_a_case_without_a_call_of_cuda_is_nothing_to_look_at() {
    echo 'All tests passed (2 assertions in 1 test case)' >idle
    expect status "$(status_of "$script" --tools memcheck,racecheck program case)" 0
    says out.txt 'memcheck      2 of 3 clean'
    says out.txt 'memcheck saw no call of CUDA: first case'
    says out.txt 'racecheck     3 of 3 clean'
    echo 'assertions: 2 | 1 passed | 1 failed' >idle
    expect status "$(status_of "$script" --tools memcheck program case)" 1
}

test_a_case_that_takes_too_long_is_named() {
    touch slow
    expect status "$(status_of "$script" --seconds 1 --tools racecheck,memcheck program case)" 4
    says out.txt 'racecheck     2 of 3 clean'
    says out.txt 'racecheck ran out of time: second case found late'
    says out.txt 'memcheck      3 of 3 clean'
}

test_cases_that_are_skipped_are_not_clean() {
    touch no_gpu
    expect status "$(status_of "$script" --tools memcheck program case)" 4
    says out.txt 'memcheck      0 of 3 clean'
    says out.txt 'memcheck skipped: first case'
}

test_a_choice_of_no_case_is_refused() {
    expect status "$(status_of "$script" program nothing)" 2
    says err.txt 'no test case is chosen by nothing'
}

test_wrong_usage_is_refused() {
    expect status "$(status_of "$script")" 2
    expect status "$(status_of "$script" --depth 2 program)" 2
    says err.txt 'not --depth'
}

test_it_says_that_there_is_no_compute_sanitizer() {
    rm bin/compute-sanitizer
    if command -v compute-sanitizer >/dev/null; then exit 4; fi # skipped
    expect status "$(status_of "$script" program case)" 2
    says err.txt 'no compute-sanitizer on PATH'
}

"$1"
