#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# course_test.sh [test_NAME]: proves what ./course does, in a small made-up repository and on a made-up
# machine: PATH holds a few plain tools and stubs that write down how they were called, nothing else.
# One function is one test, and its name is the sentence that CTest shows. Nothing is built or installed.
#
# shellcheck disable=SC2016 # the bodies of stubs are meant for a later shell
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail

course=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/course
plain_tools=(bash sh env awk basename cat chmod date dirname find getconf grep id mkdir mv paste readlink rm sed sort tee
    timeout tr wc)

# ---- The made-up repository and machine

make_stub() { # make_stub NAME: a command whose body comes from stdin and that writes its call into $calls
    rm -f "$bin/$1" # it may be a link to the real one
    {
        printf '#!/bin/bash\n{ printf "%s"; printf " <%%s>" "$@"; echo; } >>"%s"\n' "$1" "$calls"
        cat
    } >"$bin/$1"
    chmod +x "$bin/$1"
}

make_day() { # make_day NAME SENTENCE
    mkdir -p "$repo/days/$1"
    printf '// SPDX-one\n// SPDX-two\n// Day 00: %s\n// More about it.\nint main() {}\n' "$2" \
        >"$repo/days/$1/main.cpp"
}

make_exercise() { # make_exercise NAME: two regions of one source, three hints
    local exercise=$repo/days/$1/exercise name=${1%%_*}
    mkdir -p "$exercise/hints" "$repo/src"
    printf '# SPDX-one\nsource: src/%s.cpp\nregion: twice | double it\nregion: loop | add them up\n' "$name" \
        >"$exercise/exercise.txt"
    printf 'look: src/help.hpp: helper\nunproven: how fast it is\n' >>"$exercise/exercise.txt"
    cat >"$repo/src/$name.cpp" <<'SOURCE'
// SPDX-one
#include <vector>

//! [twice]
// Twice x.
int twice(int x,
          int y) {
    if (x > y) {
        return 2 * x;
    }
    return x + x;
}
//! [twice]

int sum(const std::vector<int>& all) {
    int sum = 0;
    //! [loop]
    sum = 0;
    sum += all[0];
    //! [loop]
    return sum;
}
SOURCE
    printf '8 of 8 known bugs are caught\n' >"$exercise/account.txt"
    printf 'Look.\n' >"$exercise/hints/1.md"
    printf 'Think.\n' >"$exercise/hints/2.md"
    printf '```\nOutline.\n```\n' >"$exercise/hints/3.md"
}

make_repo() { # three days; one of them draws a plot, one has an exercise
    mkdir -p "$repo/data" "$repo/days/replay" "$bin" "$etc/apt/sources.list.d"
    cp "$course" "$repo/course"
    make_day day16_gather "Rebuild the history."
    make_day day19_fused "Attend in place."
    make_day day20_readbench "Time the read."
    touch "$repo/days/day20_readbench/plot_main.cpp"
    cp "${course%/*}/days/exercise.sh" "${course%/*}/days/cut_regions.awk" "$repo/days/"
    make_exercise day19_fused
}

make_machine() { # a Debian 12 with everything, seen by root; a test takes away what it needs to
    local tool
    for tool in "${plain_tools[@]}"; do
        tool=$(command -v "$tool") || exit 4
        ln -s "$tool" "$bin/"
    done
    printf 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n' >"$etc/os-release"
    touch "$calls"
    for tool in 'g++ 12.2.0' 'ninja 1.11.1' 'git 2.39.5' 'gnuplot 5.4'; do
        make_stub "${tool% *}" <<<"echo ${tool#* }"
    done
    make_stub id <<<'echo 0'
    make_stub sudo <<<'while [[ $1 == -* ]]; do shift; done; "$@"'
    make_stub apt-get <<<'if [[ $1 == indextargets ]]; then echo bookworm http://mirror.test/debian/; fi'
    make_stub dpkg-query <<'STUB'
for name in "$@"; do
    case $name in
        -* | *' '*) ;;
        catch2) echo "catch2 installed 3.7.1-0.4~bpo12+1" ;;
        *) echo "$name installed 1.2-3" ;;
    esac
done
STUB
    # Building targets makes their programs, which prints where it runs and what it got, and exits with 7; that of
    # an exercise does what make_check says.
    make_stub cmake <<'STUB'
if [[ $1 == --version ]]; then echo "cmake version 3.25.1"; else echo "cmake speaks"; fi
while [[ $# -gt 0 && $1 != --target ]]; do shift; done
for target in "${@:2}"; do
    if [[ $target == check_* ]]; then continue; fi
    for folder in days/*/; do
        program=build/cpu/$folder$target
        mkdir -p "${program%/*}"
        printf '#!/bin/bash\necho "in $PWD"\nprintf "<%%s>\\n" "$@"\nexit 7\n' >"$program"
        chmod +x "$program"
    done
done
STUB
    make_stub ctest <<'STUB'
while [[ $1 != --test-dir ]]; do shift; done
mkdir -p "$2"
printf '<?xml version="1.0"?>\n<testsuite name="(empty)"\n\ttests="12"\n\tfailures="1"\n\tdisabled="0"\n' >"$2/course.xml"
printf '\tskipped="3"\n\thostname=""\n>\n<system-out>\ttests="99"\n</system-out></testsuite>\n' >>"$2/course.xml"
STUB
}

make_check() { # make_check NAME: the program of an exercise; its body comes from stdin
    mkdir -p "$repo/build/exercise"
    { echo '#!/bin/bash' && cat; } >"$repo/build/exercise/check_$1"
    chmod +x "$repo/build/exercise/check_$1"
}

lose_packages() { # lose_packages NAME ...: dpkg-query no longer knows them, nor does PATH
    make_stub dpkg-query <<STUB
for name in "\$@"; do
    case " $* " in *" \$name "*) continue ;; esac
    case \$name in -* | *' '*) ;; *) echo "\$name installed 3.0" ;; esac
done
exit 1
STUB
}

run_course() { # run_course ARGS: runs it on that machine, in $here; sets $status and $output (both streams)
    status=0
    output=$(cd "$here" && env -i PATH="$bin" COURSE_ETC="$etc" "$repo/course" "$@" 2>&1 </dev/null) || status=$?
}

# ---- Assertions: each says what it wanted and what it got

fail() { # fail LINE
    printf 'FAILED: %s\n--- status %s, output:\n%s\n--- calls:\n%s\n' "$1" "$status" "$output" "$(cat "$calls")"
    exit 1
}

expect_status() { # expect_status N
    [[ $status == "$1" ]] || fail "wanted exit status $1"
}

expect() { # expect TEXT ...: the output has each of these
    local text
    for text in "$@"; do [[ $output == *"$text"* ]] || fail "wanted in the output: $text"; done
}

expect_lines() { # expect_lines N: the output has so many lines
    [[ $(grep -c '' <<<"$output") == "$1" ]] || fail "wanted $1 line(s) of output"
}

expect_call() { # expect_call TEXT ...: a stub was called like this
    local text
    for text in "$@"; do grep -qF -- "$text" "$calls" || fail "wanted the call: $text"; done
}

expect_no_call() { # expect_no_call TEXT: no stub was called like this
    if grep -qF -- "$1" "$calls"; then fail "did not want the call: $1"; fi
}

expect_order() { # expect_order A B: in the output, A comes before B
    expect "$1" "$2"
    [[ ${output%%"$1"*} != *"$2"* ]] || fail "wanted '$1' before '$2'"
}

# ---- Days

test_lists_every_day_with_one_line() {
    run_course list
    expect_status 0
    expect "day16_gather           Rebuild the history." "day20_readbench        Time the read."
    expect "Type first:  ./course run day16_gather"
    [[ $output != *More* ]] || fail "wanted the first sentence alone"
    local alone=$output
    run_course
    [[ $output == "$alone" ]] || fail "wanted the same without a word"
}

test_knows_a_day_by_name_number_and_folder() {
    local word
    for word in day20_readbench day20 20 days/day20_readbench/; do
        run_course --dry-run run "$word"
        expect_status 0
        expect "build/cpu/days/day20_readbench/day20_readbench"
    done
}

test_answers_an_unknown_word_in_one_line() {
    run_course strat day19
    expect_status 2
    expect_lines 1
    expect "strat" "list run test start check hint solution next plot replay docs verify doctor help"
}

test_answers_an_unknown_day_with_the_days() {
    local word
    for word in 21 2 day ''; do
        run_course run "$word"
        expect_status 2
        expect_lines 1
        expect "day16_gather day19_fused day20_readbench"
    done
    expect_no_call "cmake <"
}

test_answers_an_ambiguous_day_with_the_choice() {
    make_day day20_other "Another."
    run_course run day20
    expect_status 2
    expect_lines 1
    expect "day20_other day20_readbench"
}

test_shows_help_with_the_exit_statuses() {
    run_course help
    expect_status 0
    expect "run DAY" "plot [DAY|road|peers]" "replay DAY" "3 something must be installed first"
    [[ $output != *'set -e'* ]] || fail "wanted the comment alone"
}

test_a_full_standard_output_is_status_1() {
    local word
    [[ -w /dev/full ]] || exit 4 # not this system's
    for word in list help doctor next 'hint 19' 'solution 19 --show' 'start 19' '--dry-run test' '--dry-run docs'; do
        status=0
        # shellcheck disable=SC2086 # some are two words
        output=$(cd "$here" && env -i PATH="$bin" COURSE_ETC="$etc" "$repo/course" $word 2>&1 >/dev/full </dev/null) ||
            status=$?
        [[ $status == 1 ]] || fail "wanted exit status 1 of $word"
        expect "No space left on device"
    done
}

expect_status_without_stderr() { # expect_status_without_stderr N ARGS: with stderr on a full disk, and closed
    local words=(env -i "PATH=$bin" "COURSE_ETC=$etc" "$repo/course" "${@:2}")
    status=0
    (cd "$here" && "${words[@]}" </dev/null >"$scratch/out" 2>/dev/full) || status=$?
    [[ $status == "$1" ]] || fail "wanted exit status $1 of ${*:2} with stderr on a full disk"
    status=0
    (cd "$here" && "${words[@]}" </dev/null >"$scratch/out" 2>&-) || status=$?
    [[ $status == "$1" ]] || fail "wanted exit status $1 of ${*:2} with stderr closed"
}

test_a_standard_error_that_cannot_be_written_changes_no_status() {
    local words
    [[ -w /dev/full ]] || exit 4
    run_course start 19
    make_check day19 <<<'echo "0 of 1 behaviours"; exit 42'
    for words in nonsense run 'run 99' 'start 16' 'list all' 'test nonsense'; do
        # shellcheck disable=SC2086 # some are two words
        expect_status_without_stderr 2 $words
    done
    expect_status_without_stderr 7 run 19
    expect_status_without_stderr 1 check 19
    expect_status_without_stderr 0 test
    expect_status_without_stderr 0 --dry-run run 19
    lose_packages libfmt-dev
    expect_status_without_stderr 0 test
    make_stub id <<<'echo 1000'
    rm "$bin/sudo"
    expect_status_without_stderr 3 test
    printf 'ID=fedora\nVERSION_ID=41\n' >"$etc/os-release"
    rm "$bin/ninja"
    expect_status_without_stderr 3 test
}

# ---- Running

test_passes_arguments_through_untouched() {
    run_course run 19 --name "two words" "it's" '' '*' '$HOME'
    expect "<--name>" "<two words>" "<it's>" "<>" "<*>" '<$HOME>'
}

test_passes_on_the_status_of_the_program() {
    run_course run 19
    expect_status 7
    expect_call "cmake <--preset> <cpu>" "cmake <--build> <--preset> <cpu> <--target> <day19_fused>"
}

test_runs_the_program_in_the_folder_of_the_learner() {
    here=$scratch
    run_course run 19
    expect "in $scratch" "\$ (cd '$repo' && cmake --preset cpu)"
}

test_shows_commands_that_a_shell_reads_back() {
    run_course --dry-run run 19 "two words" "it's" ''
    expect "\$ cmake --preset cpu" "\$ cmake --build --preset cpu --target day19_fused"
    expect "\$ build/cpu/days/day19_fused/day19_fused 'two words' 'it'\\''s' ''"
    local shown
    eval "shown=(${output##*day19_fused/day19_fused })"
    [[ ${#shown[@]} == 3 && ${shown[1]} == "it's" && ${shown[2]} == '' ]] || fail "wanted the words back"
}

test_runs_nothing_in_a_dry_run() {
    lose_packages libfmt-dev
    run_course --dry-run test
    expect_status 0
    expect "install -y --no-install-recommends libfmt-dev" "\$ ctest --test-dir build/cpu -L '^pure\$'"
    expect_no_call "cmake <"
    expect_no_call "ctest <"
    expect_no_call "<install>"
    [[ ! -e $repo/build ]] || fail "wanted no build folder"
}

test_keeps_stdout_for_the_program() {
    output=$(cd "$here" && env -i PATH="$bin" COURSE_ETC="$etc" "$repo/course" run 19 x 2>/dev/null </dev/null) || true
    [[ $output == "in $here"$'\n<x>' ]] || fail "wanted the program's own lines alone"
}

test_colours_commands_on_a_terminal_unless_no_color_is_set() {
    script -qec true /dev/null </dev/null >/dev/null 2>&1 || exit 4 # no terminal can be made here
    local on_terminal="env -i PATH='$bin' COURSE_ETC='$etc'" words="'$repo/course' --dry-run run 19"
    output=$(script -qec "$on_terminal $words" /dev/null </dev/null)
    expect $'\033[1;36m$ (cd'
    output=$(script -qec "$on_terminal NO_COLOR=1 $words" /dev/null </dev/null)
    [[ $output != *$'\033'* ]] || fail "wanted no colour with NO_COLOR"
    run_course --dry-run run 19
    [[ $output != *$'\033'* ]] || fail "wanted no colour in a pipe"
}

test_works_through_a_symlink_and_with_an_empty_environment() {
    ln -s "$repo/course" "$scratch/link"
    output=$(cd / && env -i "$scratch/link" list </dev/null)
    expect "day19_fused"
}

test_reports_a_failing_build_with_status_1() {
    make_stub cmake <<<'if [[ $1 == --build ]]; then echo "error: no" >&2; exit 2; fi'
    run_course run 19
    expect_status 1
    expect "error: no" "the build failed"
    run_course test
    expect_status 1
    expect_no_call "ctest <"
}

# ---- Exercises

test_start_writes_a_stub_that_says_what_is_wanted() {
    run_course start 19
    expect_status 0
    expect "work/day19/day19.cpp" "wanted    double it" "wanted    add them up" "look at   src/help.hpp: helper"
    expect "./course check day19"
    output=$(cat "$repo/work/day19/day19.cpp")
    expect '// Twice x.' $'int twice(int x,\n          int y) {\n    // TODO: double it.'
    expect $'throw std::logic_error(\n        "implement on Day 19: double it");\n}'
    expect $'    //! [loop]\n    // TODO: add them up.\n' $'    //! [loop]\n    return sum;'
    [[ $output != *'2 * x'* && $output != *'all[0]'* ]] || fail "wanted the regions to be gone"
    command -v g++ >/dev/null || exit 4
    g++ -fsyntax-only "$repo/work/day19/day19.cpp" || fail "wanted a stub that compiles"
}

test_start_never_overwrites_a_file_of_the_learner() {
    run_course start day19
    echo mine >"$repo/work/day19/day19.cpp"
    run_course start day19
    expect_status 0
    expect "is there already"
    [[ $(cat "$repo/work/day19/day19.cpp") == mine ]] || fail "wanted the learner's file"
}

test_start_again_keeps_each_earlier_file() {
    run_course start day19
    echo first >"$repo/work/day19/day19.cpp"
    run_course start day19 --again
    echo second >"$repo/work/day19/day19.cpp"
    run_course start --again day19
    expect "your file is kept as work/day19/day19.cpp.2"
    [[ $(cat "$repo/work/day19/"*.[12]) == $'first\nsecond' ]] || fail "wanted both files"
    grep -q TODO "$repo/work/day19/day19.cpp" || fail "wanted a new stub"
}

test_start_again_leaves_a_day_done_and_its_hints_new() {
    run_course start 19
    make_check day19 <<<'echo "1 of 1 behaviours"'
    run_course check
    run_course hint
    run_course start 19 --again
    run_course list
    expect "  done     day19_fused"
    run_course hint
    expect "hint 1 of 3"
}

test_start_without_a_day_begins_the_first_that_is_not_done() {
    make_exercise day20_readbench
    run_course start 20
    run_course start
    expect_status 0
    expect "day19_fused is the first that is not done" "work/day19/day19.cpp"
    make_check day19 <<<'echo "1 of 1 behaviours"'
    make_check day20 <<<'echo "1 of 1 behaviours"'
    run_course check 19
    run_course check 20
    run_course start
    expect_status 2
    expect_lines 1
    expect "every exercise is done"
}

test_start_and_next_name_the_page_of_the_day() {
    run_course start 19
    expect "docs/day-19-fused.md" "./course docs"
    run_course next
    expect "docs/day-19-fused.md" "./course docs"
}

test_answers_an_unknown_day_of_an_exercise_in_one_line() {
    local words
    for words in 'check day99' 'start 17' 'hint day99' 'solution day99' 'hint 19 -1' 'hint -1'; do
        run_course start 19
        # shellcheck disable=SC2086 # two words or three
        run_course $words
        expect_status 2
        expect_lines 1
    done
    expect "hints are 1 to 3, not '-1'"
}

test_refuses_words_that_it_does_not_take() {
    local words
    run_course start 19
    for words in 'check day19 day16' 'check --all' 'start day19 --agian' 'start 19 20' 'hint 19 1 2' 'solution 19 20' \
        'solution 19 --shwo' 'next day19' 'list all' 'docs extra' 'verify x' 'doctor x' 'help x' 'plot day20 x' \
        'test pure gpu' 'test all x -R y'; do
        # shellcheck disable=SC2086 # two words or three
        run_course $words
        expect_status 2
        expect_lines 1
    done
    expect_no_call "cmake <"
}

test_run_and_replay_want_a_day() {
    run_course run
    expect_status 2
    expect_lines 1
    expect "run wants a day: ./course run DAY"
    run_course replay
    expect "replay wants a day: ./course replay DAY"
}

test_says_that_a_day_has_no_exercise() {
    local word
    for word in start check hint solution; do
        run_course "$word" day16
        expect_status 2
        expect_lines 1
        expect "day16_gather has no exercise"
    done
}

test_check_asks_for_a_start_first() {
    run_course check day19
    expect_status 2
    expect_lines 1
    expect "./course start day19"
    expect_no_call "cmake <"
    run_course check
    expect "no exercise is started yet"
}

test_check_builds_the_check_alone_and_says_what_to_type_next() {
    run_course start day19
    make_check day19 <<<'echo "  not yet  doubles"; echo "0 of 1 behaviours"; exit 42'
    local before
    before=$(cat "$repo/work/day19/day19.cpp")
    run_course check day19
    expect_status 1
    expect_call "cmake <--preset> <exercise> <-DNANOSERVE_EXERCISE=day19>"
    expect_call "cmake <--build> <--preset> <exercise> <--target> <check_day19>"
    expect_order "not yet  doubles" "./course hint day19"
    [[ $output != *'cmake speaks'* && $output != *status* ]] || fail "wanted no word of cmake"
    [[ $(cat "$repo/work/day19/day19.cpp") == "$before" ]] || fail "wanted the learner's file untouched"
}

test_check_notes_a_green_day_and_says_what_is_not_proven() {
    run_course start day19
    make_check day19 <<<'echo "1 of 1 behaviours"'
    run_course check
    expect_status 0
    expect "(this check has been proven against 8 known bugs)" "not proven here: how fast it is"
    expect "./course solution day19" "./course next"
    run_course list
    expect "  done     day19_fused            Attend in place."
}

test_check_shows_what_the_compiler_says_without_its_commands() {
    run_course start day19
    make_stub cmake <<'STUB'
if [[ $1 != --build ]]; then exit 0; fi
printf '[1/3] Building CXX object a.o\nFAILED: a.o \n/usr/bin/c++ -O3 -o a.o -c %s/work/day19/day19.cpp\n' "$PWD"
printf '%s/work/day19/day19.cpp:5:3: error: no semicolon\n   5 |   x\n     |    ^\nninja: build stopped.\n' "$PWD"
exit 1
STUB
    run_course check
    expect_status 1
    expect $'\nwork/day19/day19.cpp:5:3: error: no semicolon\n   5 |   x\n     |    ^\n'
    expect $'\ncourse: work/day19 does not compile yet'
    [[ $output != *FAILED* && $output != *'-O3'* && $output != *ninja:* ]] || fail "wanted the compiler's words alone"
}

test_check_shows_paths_from_the_root_whatever_the_root_is_called() {
    local new="$scratch/a|b [c] \\1 & *"
    mkdir "$new" && mv "$repo" "$new/repo"
    repo=$new/repo here=$repo
    run_course start day19
    make_stub cmake <<'STUB'
if [[ $1 != --build ]]; then exit 0; fi
printf '%s/work/day19/day19.cpp:4:3: warning: unused\n' "$PWD"
if [[ -e fails ]]; then printf '%s/work/day19/day19.cpp:5:3: error: no semicolon\n' "$PWD" && exit 1; fi
STUB
    make_check day19 <<<'echo "1 of 1 behaviours"'
    run_course check
    expect_status 0
    expect 'work/day19/day19.cpp:4:3: warning: unused'
    touch "$repo/fails"
    run_course check
    expect_status 1
    expect $'\nwork/day19/day19.cpp:5:3: error: no semicolon\n' $'\ncourse: work/day19 does not compile yet'
    [[ $output != *"$new"*warning* && $output != *"$new"*error* ]] || fail "wanted paths from the root"
}

test_check_shows_warnings_about_the_file_of_the_learner_alone() {
    run_course start day19
    make_check day19 <<<'echo "1 of 1 behaviours"'
    make_stub cmake <<'STUB'
if [[ $1 != --build ]]; then exit 0; fi
printf '%s/work/day19/day19.cpp:5:3: warning: not used\n%s/src/other.cpp:1:1: warning: old\n' "$PWD" "$PWD"
STUB
    run_course check
    expect_status 0
    expect $'\nwork/day19/day19.cpp:5:3: warning: not used\n'
    [[ $output != *other.cpp* ]] || fail "wanted the learner's file alone"
}

test_check_is_green_only_when_each_behaviour_is_reported_ok() {
    run_course start day19
    local body
    for body in 'exit 0' 'echo "  ok       doubles"; exit 0' 'echo "1 of 2 behaviours"'; do
        make_check day19 <<<"$body"
        run_course check
        expect_status 1
        expect "./course hint day19"
        [[ $output != *'is done'* ]] || fail "wanted a red day"
    done
    make_check day19 <<<'exit 0'
    run_course check
    expect "the check ended with status 0 before it could say all: does your code call exit?"
}

test_the_first_check_says_how_long_it_takes() {
    run_course start day19
    run_course check
    expect "the first check builds the library: about a minute"
}

test_check_says_when_its_program_ends_without_a_word() {
    run_course start day19
    make_check day19 <<<'kill -SEGV $$'
    run_course check
    expect_status 1
    expect "the check ended with status 139 before it could say why"
    make_check day19 <<<'sleep 60'
    ln -s "$(command -v sleep)" "$bin/"
    output=$(cd "$here" &&
        env -i PATH="$bin" COURSE_ETC="$etc" COURSE_TIME_LIMIT=1 "$repo/course" check 2>&1) || status=$?
    expect_status 1
    expect "status 124"
}

test_check_goes_on_to_the_gpu_where_there_is_one() {
    touch "$repo/days/day19_fused/exercise/check_gpu.cpp"
    printf 'unproven-without-gpu: the barriers\n' >>"$repo/days/day19_fused/exercise/exercise.txt"
    run_course start day19
    make_check day19 <<<'echo "1 of 1 behaviours"'
    make_check day19_gpu <<<'echo "  not yet  barriers"; echo "0 of 1 behaviours"; exit 42'
    run_course check
    expect_status 0
    expect "not proven here: the barriers"
    expect_call "<-DNANOSERVE_CUDA=OFF>"
    expect_no_call "check_day19_gpu"
    make_stub nvcc <<<'echo release 13.0'
    make_stub nvidia-smi <<<'echo "GPU 0: NVIDIA H200"'
    run_course check
    expect_status 1
    expect_call "<-DNANOSERVE_CUDA=ON>" "cmake <--build> <--preset> <exercise> <--target> <check_day19_gpu>"
    expect_order "1 of 1 behaviours" "not yet  barriers"
    [[ $output != *barriers*'is done'* ]] || fail "wanted a red day"
}

test_check_runs_nothing_in_a_dry_run() {
    run_course start day19
    run_course --dry-run check
    expect_status 0
    expect "\$ cmake --build --preset exercise --target check_day19" "build/exercise/check_day19 --reporter behaviours"
    expect_no_call "cmake <"
    run_course list
    expect "  started  day19_fused"
}

test_hints_come_one_at_a_time() {
    run_course hint 19
    expect "hint 1 of 3" "Look."
    [[ $output != *Think.* ]] || fail "wanted one hint"
    run_course hint 19
    expect "hint 2 of 3" "Think." "more: ./course hint day19"
    run_course hint 19
    run_course hint 19
    expect "hint 3 of 3" "Outline." "--show"
    [[ $output != *'```'* ]] || fail "wanted no marks of Markdown"
    run_course hint 19 1
    expect "Look."
    run_course hint 19 x
    expect_status 2
}

test_a_hint_is_a_number_and_so_is_what_the_progress_says() {
    local word
    for word in ../hints/1 01 1.5 '1 ' x; do
        run_course hint 19 "$word"
        expect_status 2
        expect_lines 1
        expect "hints are 1 to 3, not '$word'"
    done
    mkdir -p "$repo/work"
    for word in many 08 -1 '1+1'; do
        printf 'day19 hints %s\n' "$word" >"$repo/work/progress"
        run_course hint 19
        expect_status 1
        expect_lines 1
        expect "work/progress counts '$word' hints of day19"
    done
}

test_the_solution_is_shown_after_green_or_on_request() {
    run_course solution 19
    expect_status 2
    expect_lines 1
    expect "./course solution day19 --show"
    run_course solution 19 --show
    expect_status 0
    expect "// src/day19.cpp, lines 5 to 12" "    return x + x;" "    sum += all[0];"
    [[ $output != *'int sum('* ]] || fail "wanted the regions alone"
    run_course start 19
    make_check day19 <<<'echo "1 of 1 behaviours"'
    run_course check
    run_course solution
    expect_status 0
    expect "    return x + x;"
}

test_next_names_the_first_day_that_is_not_done() {
    make_exercise day20_readbench
    run_course next
    expect "day19_fused: Attend in place." "./course start day19"
    run_course start 19
    make_check day19 <<<'echo "1 of 1 behaviours"'
    make_check day20 <<<'echo "1 of 1 behaviours"'
    run_course check
    run_course next
    expect "day20_readbench: Time the read." "./course start day20"
    run_course start
    run_course check
    run_course next
    expect "every exercise is done"
}

test_a_day_left_out_is_the_one_started_last() {
    make_exercise day20_readbench
    run_course start 20
    run_course start 19
    run_course start 20
    run_course hint
    expect "./course hint day20"
    run_course hint 3
    expect "hint 3 of 3"
}

# ---- Tests and plots

test_builds_the_cpu_preset_even_where_nvcc_is() {
    make_stub nvcc <<<'echo release 13.0'
    run_course test
    expect_status 0
    expect_call "cmake <--preset> <cpu>" "ctest <--test-dir> <build/cpu> <-L> <^pure\$>" "<--no-tests=error>"
    expect_no_call "<gpu>"
}

test_counts_the_tests_that_ran_and_were_skipped() {
    run_course test
    expect "course: 9 tests ran, 1 failed, 3 skipped"
}

test_passes_further_arguments_to_ctest() {
    run_course test pure -R "block pool"
    expect_call "<-R> <block pool>"
    run_course test -R other
    expect_call "<-L> <^pure\$>" "<-R> <other>"
}

test_fails_with_status_1_when_a_test_fails() {
    make_stub ctest <<<'exit 8'
    run_course test
    expect_status 1
}

test_builds_the_site_and_says_where_it_begins() {
    run_course docs
    expect_status 0
    expect_call "cmake <--preset> <docs>" "cmake <--build> <--preset> <docs>"
    expect "file://$repo/build/docs/html/index.html"
    expect_no_call "apt-get <install>"
}

test_asks_for_what_the_site_needs_by_the_word_docs_alone() {
    lose_packages doxygen graphviz libjs-mathjax
    run_course test
    expect_no_call "<install>"
    run_course docs
    expect "missing on this machine: doxygen graphviz libjs-mathjax"
    expect_call "<doxygen> <graphviz> <libjs-mathjax>"
}

test_verifies_by_the_run_of_ci_with_a_dated_report() {
    mkdir -p "$repo/.ci"
    printf '#!/bin/bash\necho "ci got" "$@"\nexit 5\n' >"$repo/.ci/run"
    chmod +x "$repo/.ci/run"
    run_course verify
    expect_status 5
    expect "ci got --report data/verified/$(date -u +%F).txt"
}

test_refuses_a_label_that_it_does_not_know() {
    run_course test cpu
    expect_status 2
    expect_lines 1
}

test_says_what_gpu_tests_need_without_nvcc() {
    run_course test gpu
    expect_status 3
    expect_lines 1
    expect "CUDA Toolkit"
    run_course test all
    expect_status 0
    expect "the gpu tests are left out"
    expect_call "<build/cpu> <-L> <^pure\$>"
}

test_runs_both_labels_in_the_gpu_folder_with_nvcc() {
    make_stub nvcc <<<'echo release 13.0'
    run_course test gpu
    expect_call "cmake <--preset> <gpu>" "ctest <--test-dir> <build/gpu> <-L> <^gpu\$>"
    run_course test all
    expect_call "<build/gpu> <-L> <^(pure|gpu)\$>"
}

test_plots_day_20_by_default() {
    run_course plot
    expect_call "<--target> <day20_plot>"
    expect "\$ build/cpu/days/day20_readbench/day20_plot" "in $repo"
}

test_plots_the_pictures_of_all_days() {
    local picture
    for picture in road peers; do
        run_course --dry-run plot "$picture"
        expect_status 0
        expect "\$ cmake --build --preset cpu --target road_plot" "\$ build/cpu/days/road/road_plot $picture"
    done
}

test_plots_a_day_of_the_road() {
    mkdir "$repo/days/day23_split_kv"
    touch "$repo/days/day23_split_kv/main.cpp" "$repo/data/day-23-split-kv-h200.csv"
    run_course --dry-run plot day23
    expect "\$ cmake --build --preset cpu --target road_plot" "\$ build/cpu/days/road/road_plot day23"
    run_course replay day23
    expect_status 2
    expect "only day21 is replayed; ./course plot day23 draws the record of day23_split_kv"
}

make_record() { # make_record DAY: a day with a plot and the record of a GPU
    make_day "day$1_kernel" "A kernel."
    touch "$repo/days/day$1_kernel/plot_main.cpp" "$repo/data/day-$1-kernel-h200.csv"
}

test_replays_the_record_of_a_day_and_draws_its_plot() {
    make_record 21
    run_course --dry-run replay day21
    expect_status 0
    expect "\$ cmake --build --preset cpu --target replay day21_plot"
    expect_order "\$ build/cpu/days/replay/replay data/day-21-kernel-h200.csv --plots build/cpu" "\$ build/cpu/days/day21_kernel/day21_plot"
}

test_passes_arguments_of_replay_on_from_the_folder_of_the_learner() {
    make_record 21
    here=$scratch
    run_course --dry-run replay 21 --cpu "my run.csv"
    expect "\$ '$repo/build/cpu/days/replay/replay' '$repo/data/day-21-kernel-h200.csv' --plots '$repo/build/cpu' --cpu 'my run.csv'"
}

test_draws_no_plot_when_the_record_does_not_hold() {
    make_record 21
    run_course replay 21
    expect_status 7
    expect "<data/day-21-kernel-h200.csv>"
    [[ $output != *"days/day21_kernel/day21_plot"* ]] || fail "wanted no plot"
}

test_says_that_a_day_has_no_record() {
    run_course replay 20
    expect_status 2
    expect_lines 1
    expect "day20_readbench has no record"
    run_course replay
    expect_status 2
    expect_no_call "cmake <"
}

test_says_that_a_day_has_no_plot() {
    run_course plot 19
    expect_status 2
    expect_lines 1
    expect_no_call "cmake <"
}

# ---- Set-up

test_calls_no_apt_when_nothing_is_missing() {
    run_course test
    expect_no_call "apt-get <"
    [[ $output != *missing* ]] || fail "wanted set-up to be silent"
}

test_says_what_is_missing_before_apt_runs() {
    lose_packages libfmt-dev libcli11-dev
    make_stub apt-get <<<'echo "apt speaks"'
    run_course test
    expect_status 0
    expect_order "missing on this machine: libfmt-dev libcli11-dev" "apt speaks"
    expect_order "--no-install-recommends libfmt-dev libcli11-dev" "cmake --preset cpu"
    expect_call "<DPkg::Lock::Timeout=300> <update>" "<install> <-y> <--no-install-recommends> <libfmt-dev> <libcli11-dev>"
    expect_no_call "sudo <"
}

test_counts_a_package_as_there_when_its_command_is() {
    lose_packages gnuplot-nox cmake
    run_course test
    expect_no_call "apt-get <"
    rm "$bin/gnuplot"
    run_course test
    expect_call "<--no-install-recommends> <gnuplot-nox>"
}

test_uses_sudo_that_asks_nothing_without_a_terminal() {
    make_stub id <<<'echo 1000'
    lose_packages libfmt-dev
    run_course test
    expect_status 0
    expect_call "sudo <-n> <env> <DEBIAN_FRONTEND=noninteractive> <apt-get>" "<libfmt-dev>"
}

test_says_what_root_must_run_when_there_is_no_way_to_be_root() {
    make_stub id <<<'echo 1000'
    rm "$bin/sudo"
    lose_packages libfmt-dev
    run_course test
    expect_status 3
    expect "\$ env DEBIAN_FRONTEND=noninteractive apt-get" "install -y --no-install-recommends libfmt-dev"
    expect_no_call "<install>"
}

test_takes_catch2_from_backports_in_its_own_command() {
    lose_packages catch2 libfmt-dev
    run_course test
    expect_status 0
    expect_call "<--no-install-recommends> <libfmt-dev>" "<--no-install-recommends> <catch2/bookworm-backports>"
    local list=$etc/apt/sources.list.d/nanoserve-backports.list
    [[ $(cat "$list") == "deb http://mirror.test/debian/ bookworm-backports main" ]] || fail "wanted apt's own mirror"
}

test_adds_no_second_backports_source() {
    lose_packages catch2
    make_stub apt-get <<<'echo bookworm-backports http://mirror.test/debian/'
    run_course test
    expect_call "<catch2/bookworm-backports>"
    [[ ! -e $etc/apt/sources.list.d/nanoserve-backports.list ]] || fail "wanted no source of our own"
}

test_replaces_catch2_2_on_debian_12_alone() {
    make_stub dpkg-query <<<'for name in "$@"; do echo "$name installed 2.13.10-1"; done'
    run_course test
    expect_call "<catch2/bookworm-backports>"
    printf 'ID=ubuntu\nVERSION_ID="24.04"\n' >"$etc/os-release"
    lose_packages catch2
    run_course test
    expect_call "<--no-install-recommends> <catch2>"
}

test_stops_with_one_line_when_apt_fails() {
    lose_packages libfmt-dev
    make_stub apt-get <<<'echo "E: no network" >&2; exit 100'
    run_course test
    expect_status 3
    expect_order "E: no network" "set-up did not finish"
    expect_no_call "cmake <"
}

test_installs_nothing_on_another_system() {
    printf 'ID=fedora\nVERSION_ID=41\nPRETTY_NAME="Fedora 41"\n' >"$etc/os-release"
    mv "$bin/g++" "$bin/clang++"
    run_course test
    expect_status 0
    rm "$bin/ninja" "$bin/dpkg-query"
    make_stub cmake <<<'echo cmake version 3.16.3'
    run_course test
    expect_status 3
    expect "no ninja" "cmake is older than 3.25" "dnf install" "not tried"
    expect_no_call "apt-get <"
}

# ---- Doctor

test_doctor_finds_what_is_there() {
    run_course doctor
    expect_status 0
    expect "Debian 12" "g++        12.2.0" "cmake      3.25.1" "no nvcc" "no GPU" "build/cpu is not configured yet"
    expect_no_call "apt-get <"
}

test_doctor_shows_nvcc_and_the_gpu() {
    make_stub nvcc <<<'echo Cuda compilation tools, release 13.0, V13.0.88'
    make_stub nvidia-smi <<<'echo "GPU 0: NVIDIA H200"'
    mkdir -p "$repo/build/cpu"
    touch "$repo/build/cpu/CMakeCache.txt"
    run_course doctor
    expect_status 0
    expect "nvcc       13.0" "GPU 0: NVIDIA H200" "build/cpu is configured"
}

test_doctor_fails_with_status_3_when_something_is_missing() {
    rm "$bin/ninja"
    lose_packages ninja-build libfmt-dev
    run_course doctor
    expect_status 3
    expect "no ninja" "packages missing: ninja-build libfmt-dev"
    expect_no_call "apt-get <"
}

# ---- The script itself

test_is_clean_for_shellcheck() {
    command -v shellcheck >/dev/null || exit 4
    shellcheck -x "$course" "${course%/*}/days/exercise.sh" "${BASH_SOURCE[0]}"
}

run_one() { # run_one test_NAME: makes its world, runs it, takes the world away
    scratch=$(mktemp -d)
    scratch=$(readlink -f "$scratch")
    trap 'rm -rf "$scratch"' EXIT
    bin=$scratch/bin etc=$scratch/etc calls=$scratch/calls repo="$scratch/a path with spaces/repo"
    status=0 output='' here=$repo
    make_repo
    make_machine
    "$1"
}

if [[ $# == 1 ]]; then
    run_one "$1"
else # all of them, each in a process of its own
    failed=0
    for name in $(compgen -A function test_); do
        bash "${BASH_SOURCE[0]}" "$name" || { echo "$name: status $?" && failed=1; }
    done
    exit "$failed"
fi
