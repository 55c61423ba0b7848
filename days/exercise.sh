# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # root and dry_run are set by ./course
#
# The words start, check, hint, solution and next of ./course, which reads this file. An exercise is a folder
# days/dayNN_name/exercise:
#
#   exercise.txt    source:   a file that the learner writes anew, from the root; one line for each
#                   region:   NAME | what is wanted there; NAME is a pair of marks //! [NAME] in a source
#                   look:     what the learner's code may call, and where it stands
#                   link:     a target that check.cpp needs besides the library (may be left out)
#                   unproven: what a green check does not show, and unproven-without-gpu: (may be left out)
#   check.cpp       the behaviours, one Catch2 test for each, named by a sentence
#   check_gpu.cpp   those that need a GPU, checked where there is one (may be left out)
#   hints/1.md ...  from a nudge to an outline
#   mutants.txt     known bugs that the check must catch; tests/exercise/prove.sh reads it
#   account.txt     what came of them; prove.sh --update writes it, the pages show it
#
# The learner's files are in work/dayNN, and work/progress has what was started, hinted at and done.

export COURSE_TIME_LIMIT=${COURSE_TIME_LIMIT:-20} # seconds that a check may take; it needs less than one

exercise_field() { sed -n "s/^$2: *//p" "$root/days/$1/exercise/exercise.txt"; } # exercise_field DAY source
short() { printf '%s' "${1%%_*}"; }                                             # day19_fused: day19
page_of() { local name=${1#day} && printf 'docs/day-%s.md' "${name/_/-}"; }     # docs/day-19-fused.md
has_exercise() { [[ -e $root/days/$1/exercise/exercise.txt ]]; }

# ---- Progress: lines "day19 done yes"; a new one goes to the end

progress() { # progress DAY WHAT: the value, or nothing
    awk -v day="$(short "$1")" -v what="$2" '$1 == day && $2 == what { print $3 }' \
        "$root/work/progress" 2>/dev/null || true
}

note_progress() { # note_progress DAY WHAT VALUE
    local others=''
    if [[ -e $root/work/progress ]]; then
        others=$(awk -v day="$(short "$1")" -v what="$2" '$1 != day || $2 != what' "$root/work/progress")
    fi
    mkdir -p "$root/work"
    printf '%s%s %s %s\n' "${others:+$others$'\n'}" "$(short "$1")" "$2" "$3" >"$root/work/progress.new"
    mv "$root/work/progress.new" "$root/work/progress"
}

state_of() { # open, started or done; nothing for a day without an exercise
    if ! has_exercise "$1"; then return; fi
    if [[ $(progress "$1" "done") ]]; then
        echo "done"
    elif [[ $(progress "$1" started) ]]; then
        echo "started"
    else
        echo "open"
    fi
}

exercise_day() { # the day that a word names and that has an exercise; without a word, the one started last
    local day word=${1:-}
    if [[ -z $word ]]; then
        word=$(awk '$2 == "started" { last = $1 } END { print last }' "$root/work/progress" 2>/dev/null) || true
        [[ $word ]] || fail 2 "no exercise is started yet; which day? ./course next names one"
    fi
    day=$(find_day "$word") || exit # of a command substitution: set -e does not reach into it
    has_exercise "$day" || fail 2 "$day has no exercise"
    printf '%s\n' "$day"
}

# ---- Stubs: made from the library's own source, so that they can't drift from it

cut_regions() { # cut_regions DAY SOURCE stub|empty|solution: SOURCE with its regions emptied, or the regions alone
    local number
    number=$(short "$1")
    awk -v day="${number#day}" -v source="$2" -v mode="$3" -f "$root/days/cut_regions.awk" \
        "$root/days/$1/exercise/exercise.txt" "$root/$2"
}

keep_copy() { # keep_copy FILE: moves it to the first free of FILE.1, FILE.2, ...
    local number=1
    while [[ -e $1.$number ]]; do ((number++)); done
    mv "$1" "$1.$number"
    printf 'your file is kept as %s\n' "${1#"$root"/}.$number"
}

# ---- The words

start() { # start DAY [--again]: writes the stubs; never over a file that is there, but --again moves it aside
    local day source mine again='' words=()
    for source in "$@"; do
        if [[ $source == --again ]]; then again=yes; else words+=("$source"); fi
    done
    takes 'start [DAY] [--again]' 1 ${words[@]+"${words[@]}"}
    day=${words[0]:-$(first_open_day)}
    [[ $day ]] || fail 2 "every exercise is done; ./course start DAY --again begins one anew"
    day=$(exercise_day "$day")
    [[ ${words[0]:-} ]] || printf '%s is the first that is not done\n' "$day"
    if [[ $dry_run ]]; then return; fi # writes stubs and runs no command
    mkdir -p "$root/work/$(short "$day")"
    while read -r source; do
        mine=$root/work/$(short "$day")/${source##*/}
        if [[ -e $mine && $again ]]; then keep_copy "$mine"; fi
        if [[ -e $mine ]]; then
            printf '%s is there already; --again begins anew and keeps a copy\n' "${mine#"$root"/}"
        else
            cut_regions "$day" "$source" stub >"$mine.new"
            mv "$mine.new" "$mine"
            printf 'write in  %s\n' "${mine#"$root"/}"
        fi
    done < <(exercise_field "$day" source)
    if [[ $again ]]; then note_progress "$day" hints ''; fi
    exercise_field "$day" region | sed 's/^.* | /wanted    /'
    exercise_field "$day" look | sed 's/^/look at   /'
    printf 'read      %s (./course docs makes a site of it)\n' "$(page_of "$day")"
    printf 'then      ./course check %s\n' "$(short "$day")"
    note_progress "$day" started yes
}

check() { # check [DAY]: builds the library with the learner's files, says which behaviours it has
    local day name log source
    takes 'check [DAY]' 1 "$@"
    day=$(exercise_day "${1:-}")
    name=$(short "$day")
    log=$root/build/exercise-$name.log
    while read -r source; do
        [[ -e $root/work/$name/${source##*/} ]] || fail 2 "there is no work/$name/${source##*/}: ./course start $name"
    done < <(exercise_field "$day" source)
    set_up
    mkdir -p "$root/build"
    [[ -e $root/build/exercise ]] || say "the first check builds the library: about a minute; later ones build your file alone"
    run_in_root cmake --preset exercise "-DNANOSERVE_EXERCISE=$name" "-DNANOSERVE_CUDA=$(cuda_for "$day")" \
        >"$log" 2>&1 || { cat "$log" >&2 || true; fail 1 "cmake could not configure; see above"; }
    check_part "$name" "check_$name" || return 1
    if [[ $(cuda_for "$day") == ON ]]; then
        say "and on the GPU; nvcc takes a minute or two"
        check_part "$name" "check_${name}_gpu" || return 1
    fi
    [[ $dry_run ]] || say_green "$day"
}

cuda_for() { # ON for a day with a part for the GPU, where nvcc and a GPU are; else OFF
    if [[ -e $root/days/$1/exercise/check_gpu.cpp ]] && have nvcc &&
        have nvidia-smi && nvidia-smi -L >/dev/null 2>&1; then
        echo ON
    else
        echo OFF
    fi
}

check_part() { # check_part day19 TARGET: builds one program of the check and runs it
    local log=$root/build/exercise-$1.log status=0 limit=(timeout -k 2 "$COURSE_TIME_LIMIT")
    have timeout || limit=() # not everywhere
    run_in_root cmake --build --preset exercise --target "$2" >"$log" 2>&1 || say_build_error "$1" "$log"
    from_root <"$log" | sed -n "/^work\/$1\/.*warning: /p" >&2
    ulimit -c 0
    run_in_root "${limit[@]}" "build/exercise/$2" --reporter behaviours | tee "$log" || status=$?
    if [[ $dry_run ]]; then return; fi
    # Status 0 alone is no proof: code that calls exit has it too.
    if [[ $status == 0 ]] && grep -q '^\([1-9][0-9]*\) of \1 behaviours$' "$log"; then return; fi
    if ! grep -q ' behaviours$' "$log"; then
        if [[ $status == 0 ]]; then
            say "the check ended with status 0 before it could say all: does your code call exit?"
        else
            say "the check ended with status $status before it could say why"
        fi
    fi
    printf '\nnext: change work/%s, then ./course check %s, or ./course hint %s\n' "$1" "$1" "$1"
    return 1
}

from_root() { # shortens the paths of this repository; to sed its name could mean something
    local line
    while IFS= read -r line || [[ $line ]]; do printf '%s\n' "${line//"$root/"/}"; done
}

say_build_error() { # say_build_error day19 LOG: what the compiler says, without the commands that ran it
    grep -vE '^(\[[0-9]+/[0-9]+\]|FAILED:|ninja:|/[^ ]* .* -c )' "$2" | from_root >&2
    if grep -q "work/$1/.*error" "$2"; then fail 1 "work/$1 does not compile yet; see above"; fi
    fail 1 "the build failed; see above"
}

say_green() { # say_green DAY: the day is done
    note_progress "$1" "done" yes
    sed -n 's/^.* of \([0-9]* known bugs\) are caught$/(this check has been proven against \1)/p' "$root/days/$1/exercise/account.txt"
    exercise_field "$1" unproven | sed 's/^/not proven here: /'
    if [[ $(cuda_for "$1") == OFF ]]; then exercise_field "$1" unproven-without-gpu | sed 's/^/not proven here: /'; fi
    printf '\n%s is done. Compare: ./course solution %s   Then: ./course next\n' "$(short "$1")" "$(short "$1")"
}

next_hint() { # next_hint DAY LAST: the number of the hint after those that were shown
    local number
    number=$(progress "$1" hints)
    [[ $number =~ ^(0|[1-9][0-9]{0,3})?$ ]] ||
        fail 1 "work/progress counts '$number' hints of $(short "$1"): put that line right, or delete it"
    echo $((number < $2 ? number + 1 : $2))
}

hint() { # hint [DAY] [N]: one more hint each time, or hint N
    local day number last
    takes 'hint [DAY] [N]' 2 "$@"
    if [[ ${1:-} =~ ^-?[0-9]$ ]]; then set -- '' "$1"; fi # a hint of the day started last
    day=$(exercise_day "${1:-}")
    last=$(find "$root/days/$day/exercise/hints" -name '*.md' | wc -l)
    number=${2:-$(next_hint "$day" "$last")}
    [[ $number =~ ^[1-9][0-9]*$ && -e $root/days/$day/exercise/hints/$number.md ]] || fail 2 "hints are 1 to $last, not '$number'"
    printf 'hint %d of %d\n\n' "$number" "$last"
    grep -v '^```' "$root/days/$day/exercise/hints/$number.md" || lost # a terminal has no use for the marks
    note_progress "$day" hints "$number"
    if ((number < last)); then
        printf '\nmore: ./course hint %s\n' "$(short "$day")"
    else
        printf '\nthat was the last one; ./course solution %s --show is what is left\n' "$(short "$day")"
    fi
}

solution() { # solution [DAY] [--show]: what the library has there; before the check is green only when asked for
    local day source show='' words=()
    for source in "$@"; do
        if [[ $source == --show ]]; then show=yes; else words+=("$source"); fi
    done
    takes 'solution [DAY] [--show]' 1 ${words[@]+"${words[@]}"}
    day=$(exercise_day "${words[0]:-}")
    if [[ $(state_of "$day") != "done" && ! $show ]]; then
        fail 2 "$(short "$day") is not green yet; to see it all the same: ./course solution $(short "$day") --show"
    fi
    while read -r source; do cut_regions "$day" "$source" solution || lost; done < <(exercise_field "$day" source)
}

first_open_day() { # the first day whose exercise is not done, or nothing
    local day
    for day in $(days); do
        if has_exercise "$day" && [[ $(state_of "$day") != "done" ]]; then echo "$day" && return; fi
    done
}

next() { # the first day that is not done, and what to type
    local day
    day=$(first_open_day)
    if [[ -z $day ]]; then echo "every exercise is done" && return; fi
    printf '%s: %s\n\n' "$day" "$(sentence "$day")"
    printf 'read it: %s (./course docs makes a site of it)\n' "$(page_of "$day")"
    printf 'see it:  ./course run %s\nwrite it: ./course start %s\n' "$(short "$day")" "$(short "$day")"
}
