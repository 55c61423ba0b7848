#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# sanitize.sh [--jobs N] [--seconds N] [--tools LIST] PROGRAM [SPEC]: runs every test case of a Catch2 program that SPEC
# chooses (default: all without a clock, which a tool disturbs, and without the heavy ones) under each tool of
# compute-sanitizer, in a process of its own. Prints how many each tool saw to the end, the others by name, and the output
# of those in which it found something. Exit status: 0 all clean; 1 a tool found something, or a test failed; 2 wrong
# usage; 4 nothing was found, but for some time ran out, or they were skipped, as all are without a GPU.
set -euo pipefail

jobs=$(nproc) seconds=600 tools=racecheck,memcheck,initcheck,synccheck # the slowest first
while [[ ${1:-} == --* ]]; do
    case $1 in
        --jobs) jobs=${2:?a number} ;;
        --seconds) seconds=${2:?a number} ;;
        --tools) tools=${2:?names, separated by commas} ;;
        *) printf 'sanitize.sh takes --jobs, --seconds and --tools, not %s\n' "$1" >&2 && exit 2 ;;
    esac
    shift 2
done
if [[ $# -lt 1 || $# -gt 2 ]]; then
    printf 'sanitize.sh [--jobs N] [--seconds N] [--tools LIST] PROGRAM [SPEC]\n' >&2
    exit 2
fi
command -v compute-sanitizer >/dev/null || { printf 'no compute-sanitizer on PATH\n' >&2 && exit 2; }

export program=$1 spec=${2:-'~[clock]~[heavy]'} seconds
logs=$(mktemp -d)
export logs
trap 'rm -rf "$logs"' EXIT

"$program" --list-tests --verbosity quiet "$spec" >"$logs/titles"
num_cases=$(wc -l <"$logs/titles")
export num_cases
[[ $num_cases -gt 0 ]] || { printf 'no test case is chosen by %s\n' "$spec" >&2 && exit 2; }

run_case() { # run_case TOOL NUMBER: one line in verdicts
    local log=$logs/$1.$2 options=() status=0 verdict
    if [[ $1 == memcheck ]]; then options=(--report-api-errors no); fi # tests provoke some on purpose
    timeout "$seconds" compute-sanitizer --tool "$1" "${options[@]}" --error-exitcode 9 \
        "$program" "$spec" --shard-count "$num_cases" --shard-index "$(($2 - 1))" >"$log" 2>&1 || status=$?
    case $status in
        0) verdict=clean ;;
        4) verdict=skipped ;;
        124) verdict=late ;;
        *) verdict=found ;;
    esac
    if [[ $status == 255 ]] && grep -q 'All tests passed' "$log" &&
        grep -q 'terminated before first instrumented API call' "$log"; then verdict=idle; fi
    if [[ $verdict == found ]]; then cp "$log" "$log.found"; fi
    printf '%s %s %s\n' "$1" "$verdict" "$(sed -n "${2}p" "$logs/titles")" >>"$logs/verdicts"
}
export -f run_case

for tool in ${tools//,/ }; do
    for ((i = 1; i <= num_cases; ++i)); do printf '%s %s\n' "$tool" "$i"; done
done | xargs -P "$jobs" -L 1 bash -c "run_case \$0 \$1"

count() { grep -c "^$1 $2 " "$logs/verdicts" || true; } # count TOOL VERDICT
name() { sed -n "s/^\([a-z]*\) $1 /\1 $2: /p" "$logs/verdicts"; } # name VERDICT WORDS
for tool in ${tools//,/ }; do
    printf '%-10s %4d of %d clean\n' "$tool" "$(count "$tool" clean)" "$num_cases"
done
name skipped skipped
name idle 'saw no call of CUDA'
name late 'ran out of time'
name found 'found something'
if compgen -G "$logs/*.found" >/dev/null; then
    cat "$logs"/*.found
    exit 1
fi
if grep -qE '^[a-z]+ (skipped|late) ' "$logs/verdicts"; then exit 4; fi
