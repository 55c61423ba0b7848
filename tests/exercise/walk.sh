#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# walk.sh: the path of a learner through Day 19, in a fresh clone with the changes of this work tree: list, run,
# start, red, hint, a typing error, a crash, a loop without end, an early exit, a warning, filled in, green, next.
set -euo pipefail
export LC_ALL=C # the compiler's quotes

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mine=work/day19/paged_attention_reference.cpp
solution=src/nanoserve/attention/paged_attention_reference.cpp

course() { # course STATUS ARGS: runs it, must end with this status; sets $output
    local start=$SECONDS status=0
    output=$(./course "${@:2}" 2>&1 </dev/null) || status=$?
    printf '\n$ ./course %s  # status %s, %s s\n%s\n' "${*:2}" "$status" "$((SECONDS - start))" "$output"
    [[ $status == "$1" ]] || { echo "FAILED: wanted status $1" && exit 1; }
}

expect() { # expect TEXT ...: the output has each of these
    local text
    for text in "$@"; do [[ $output == *"$text"* ]] || { echo "FAILED: wanted: $text" && exit 1; }; done
}

write() { # write SED-SCRIPT: the learner's file is the solution with this change; a check must leave it alone
    sed "$1" "$solution" >"$mine"
    if [[ $1 ]] && cmp -s "$mine" "$solution"; then echo "FAILED: '$1' changes nothing" && exit 1; fi
    cp "$mine" "$scratch/mine"
}

check() { # check STATUS
    COURSE_TIME_LIMIT=3 course "$1" check
    cmp "$mine" "$scratch/mine" || { echo "FAILED: wanted the learner's file untouched" && exit 1; }
}

git clone -q --no-local "$root" "$scratch/clone"
cd "$scratch/clone"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x

course 0 list
expect 'open     day19_fused'
course 0 run day19
expect 'fused == gathered: yes, bit for bit'

course 0 start day19
expect "$mine"
cp "$mine" "$scratch/mine"
check 1
expect '0 of 11 behaviours' 'it threw: implement on Day 19: ' './course hint day19'
course 0 hint
expect 'hint 1 of 3'
course 2 solution day19
expect 'not green yet'

write 's/work.exponentiate(ops);/work.exponentiate(ops)/'
check 1
expect "$mine:" "error: expected ';'" 'does not compile yet'

write 's/layout.offset(block, 0, kv_head)/(std::int64_t{1} << 40)/'
check 1
expect '0 of 11 behaviours' 'it crashed (SIGSEGV' './course hint day19'
[[ $output != *'line '* ]] || { echo 'FAILED: wanted no word of the shell' && exit 1; }

write 's/++i/i += 0/'
check 1
expect '0 of 11 behaviours' 'it did not come back within 3 s'

write 's/work.exponentiate(ops);/std::exit(0);/'
check 1
expect 'the check ended with status 0 before it could say all' './course hint day19'

write '/^namespace nanoserve {/a static_assert(true || 1 \& 1 == 1);'
check 0
expect "$mine:" 'warning: '

write 's/tokens_in_block(read, layout, i), h);/layout.block_size, h);/'
check 1
expect 'not yet  the last block is read only up to seq_len' 'the first is out[0, 0, 0]: expected ' 'got nan'

write ''
check 0
expect '11 of 11 behaviours' '(this check has been proven against 11 known bugs)' 'day19 is done'
course 0 solution
expect 'detail::Rows rows_of(' 'void attend_in_place('
course 0 list
expect 'done     day19_fused'
course 0 next
expect './course start day'
[[ $output != *'./course start day19'* ]] || { echo 'FAILED: wanted another day' && exit 1; }
[[ -z $(git status --porcelain work) ]] || { echo "FAILED: wanted work/ to be ignored by git" && exit 1; }
