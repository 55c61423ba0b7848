#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# tests/fuzz/run.sh [--seconds N] [--keep FOLDER] [TARGET ...]: fuzzes each target, N seconds in all (60 by
# default), one process at a time. Wants the preset fuzz to be built. What the fuzzer learns goes to FOLDER, which
# a later run begins with (by default it is thrown away); an input that breaks something is left there, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=60 keep=''
while [[ ${1:-} == --* ]]; do
    case $1 in
        --seconds) seconds=${2:?a number of seconds} ;;
        --keep) keep=${2:?a folder} ;;
        *) echo "run.sh [--seconds N] [--keep FOLDER] [TARGET ...]" >&2 && exit 2 ;;
    esac
    shift 2
done
targets=("$@")
if ((${#targets[@]} == 0)); then
    for folder in tests/corpus/*_fuzz; do targets+=("${folder##*/}"); done
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
keep=${keep:-$scratch}

executions=0
share=$((seconds / ${#targets[@]} > 0 ? seconds / ${#targets[@]} : 1))
for target in "${targets[@]}"; do
    learnt=$keep/$target
    mkdir -p "$learnt"
    status=0
    # A seed of its own each time: a run that always takes the same path finds nothing new.
    "build/fuzz/tests/fuzz/$target" -max_total_time="$share" -max_len=16384 -timeout=60 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$learnt/broken-" "$learnt" "tests/corpus/$target" \
        >"$scratch/log" 2>&1 || status=$?
    if ((status != 0)); then
        tail -n 60 "$scratch/log"
        for input in "$learnt"/broken-*; do printf '%s in base64:\n' "${input##*/}" && base64 "$input"; done
        printf '%s: an input breaks it; mend the cause, then put the input into tests/corpus/%s\n' "$target" "$target"
        exit 1
    fi
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/log")
    printf '%-20s %9d executions in %d s\n' "$target" "$count" "$share"
    executions=$((executions + count))
done
printf 'fuzzed %d targets, %d executions, nothing broke\n' "${#targets[@]}" "$executions"
