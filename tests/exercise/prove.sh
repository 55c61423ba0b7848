#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# prove.sh [--update] DAY ...: proves the exercises of these days: the solution is green, the stub and one that
# leaves the output empty are red, and the check catches every known bug of mutants.txt by an assertion while it
# still passes something. The account must be the one in the day's account.txt; --update writes it there.
# With NANOSERVE_PROVEN_AT=COMMIT the known bugs of an exercise that is still the one of that commit are not tried.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/days/exercise.sh"

build=$root/build/${NANOSERVE_PROOF_FOLDER:-exercise-proof}
work=$build/work
update=''
bad=0

wrong() { # wrong LINE: goes on, but the proof has failed
    printf '  WRONG: %s\n' "$1"
    bad=1
}

# ---- Known bugs

num_mutants() { awk '!/^(#|[-+] |$)/ { n++ } END { print n + 0 }' "$1"; }     # num_mutants FILE
mutant_title() { awk -v n="$2" '!/^(#|[-+] |$)/ && ++i == n' "$1"; }           # mutant_title FILE N

mutate() { # mutate FILE N SOURCE: SOURCE with known bug N; status 1 if its lines do not stand there exactly once
    awk -v n="$2" '
        function bare(line) { sub(/^ +/, "", line); return line }
        FNR == NR {
            if (!/^(#|[-+] |$)/) i++
            if (i == n && sub(/^- /, "")) from[++num_from] = bare($0)
            if (i == n && sub(/^\+ /, "")) to[++num_to] = bare($0)
            next
        }
        { line[FNR] = $0; last = FNR }
        END {
            if (num_from < 1 || num_from > 3 || num_to > 3) exit 1
            for (i = 1; i <= last; i++) {
                for (k = 1; k <= num_from && bare(line[i + k - 1]) == from[k]; k++) {}
                if (k > num_from) { place = i; num_places++ }
            }
            if (num_places != 1) exit 1
            match(line[place], /^ */)
            margin = substr(line[place], 1, RLENGTH)
            for (i = 1; i <= last; i++) {
                if (i == place) for (k = 1; k <= num_to; k++) print margin to[k]
                if (i < place || i >= place + num_from) print line[i]
            }
        }' "$1" "$3"
}

put() { # put FILE NAME: the learner's file NAME becomes FILE; stays as it is when it is that already
    cmp -s "$1" "$work/$name/$2" || cp "$1" "$work/$name/$2"
}

write_mutant() { # write_mutant DAY N: the bug stands in just one of the sources
    local day=$1 source places=0
    for source in "${sources[@]}"; do
        if mutate "$root/days/$day/exercise/mutants.txt" "$2" "$root/$source" >"$build/mutant"; then
            put "$build/mutant" "${source##*/}"
            places=$((places + 1))
        else
            put "$root/$source" "${source##*/}"
        fi
    done
    [[ $places == 1 ]]
}

# ---- One build and run of a check

run_check() { # sets $status, $report, $num_ok and $num_behaviours, or says that it does not build
    report='' num_ok=0 num_behaviours=0 status=0
    if ! cmake --build "$build" --target "check_$name" >"$build/log" 2>&1; then
        cat "$build/log"
        wrong "$1 does not build"
        return 1
    fi
    report=$(ulimit -c 0 && timeout -k 2 "$COURSE_TIME_LIMIT" "$build/check_$name" --reporter behaviours \
        --reporter "junit::out=$build/junit.xml") || status=$?
    num_ok=$(grep -c '^  ok ' <<<"$report") || true
    num_behaviours=$((num_ok + $(grep -c '^  not yet ' <<<"$report"))) || true
}

write_files() { # write_files DAY stub|empty|whole
    local source
    for source in "${sources[@]}"; do
        if [[ $2 == whole ]]; then
            put "$root/$source" "${source##*/}"
        else
            cut_regions "$1" "$source" "$2" >"$build/stub"
            put "$build/stub" "${source##*/}"
        fi
    done
}

# ---- The proof of one day

prove_solution() {
    write_files "$1" whole
    run_check "the solution" || return 0
    [[ $status == 0 ]] || wrong "the solution is red:"$'\n'"$report"
    printf 'the solution has %d of %d behaviours, ' "$num_ok" "$num_behaviours"
}

prove_stubs() {
    write_files "$1" stub
    if run_check "the stub"; then
        [[ $status != 0 && $num_ok == 0 && $report == *"implement on Day "* ]] ||
            wrong "the stub is not red:"$'\n'"$report"
        printf 'the stub %d, ' "$num_ok"
    fi
    write_files "$1" empty
    if run_check "the empty stub"; then
        [[ $status != 0 && $status -lt 124 ]] || wrong "the empty stub is not red:"$'\n'"$report"
        printf 'one that writes nothing %d\n' "$num_ok"
    fi
}

prove_mutants() {
    local file=$root/days/$1/exercise/mutants.txt n total caught=0 lines='' title by
    total=$(num_mutants "$file")
    ((total >= 5)) || wrong "only $total known bugs; there must be 5"
    for ((n = 1; n <= total; n++)); do
        title=$(mutant_title "$file" "$n")
        write_mutant "$1" "$n" || { wrong "'$title' does not stand in just one place of the sources" && continue; }
        run_check "'$title'" || continue
        by=$(sed -n 's/^  not yet  //p' <<<"$report" | sed -n 1p)
        if [[ $status == 0 ]]; then
            wrong "nothing catches '$title'"
        elif ((status >= 124)) || ! grep -q '<failure' "$build/junit.xml"; then
            wrong "'$title' dies, but not by an assertion:"$'\n'"$report"
        elif ((num_ok == 0)); then
            wrong "'$title' passes nothing:"$'\n'"$report"
        else
            caught=$((caught + 1))
            lines+=$(printf '\n- %s\n    %s' "$title" "$by")
        fi
    done
    printf '%d of %d known bugs are caught\n\nEach bug, and the first behaviour that it lacks:\n%s\n' \
        "$caught" "$total" "$lines"
}

bugs_are_proven() { # bugs_are_proven DAY: were they caught at NANOSERVE_PROVEN_AT, with the same files?
    [[ ${NANOSERVE_PROVEN_AT:-} ]] && git -C "$root" diff --quiet "$NANOSERVE_PROVEN_AT" -- \
        days/exercise.sh days/cut_regions.awk tests/exercise "days/$1/exercise" "${sources[@]}"
}

prove() { # prove DAY: the account of one day
    name=$(short "$1")
    readarray -t sources < <(exercise_field "$1" source)
    mkdir -p "$work/$name"
    write_files "$1" whole
    (cd "$root" && cmake --preset exercise -B "$build" "-DNANOSERVE_EXERCISE=$name" "-DNANOSERVE_WORK=$work") \
        >"$build/log" 2>&1 || { cat "$build/log" && wrong "cmake could not configure" && return; }
    prove_solution "$1"
    prove_stubs "$1"
    if bugs_are_proven "$1"; then
        tail -n +2 "$root/days/$1/exercise/account.txt"
    else
        prove_mutants "$1"
    fi
}

mkdir -p "$work"
if [[ ${1:-} == --update ]]; then update=yes && shift; fi
for day in "$@"; do
    account=$build/account.txt shown=$root/days/$day/exercise/account.txt
    prove "$day" >"$account" 2>&1
    if grep -q WRONG "$account"; then bad=1; fi
    printf '%s\n' "$day" && cat "$account"
    if [[ $update ]]; then
        cp "$account" "$shown"
    elif ! diff "$shown" "$account"; then
        wrong "$day/exercise/account.txt has another account; if this is right: tests/exercise/prove.sh --update $day"
    fi
done
exit "$bad"
