#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# tests/days/valgrind.sh [FOLDER]: runs the days' programs, which lie in FOLDER (build/cpu/days), under valgrind.
# Valgrind knows no AVX-512; the reads pick their instruction set at run time, so the baseline is asked for by
# NANOSERVE_INSTRUCTION_SET. No GPU is seen: valgrind knows none. Any use of what isn't set or isn't ours, and any
# leak, ends it with status 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

programs=$(realpath "${1:-build/cpu/days}")
data=$PWD/data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export NANOSERVE_INSTRUCTION_SET=baseline CUDA_VISIBLE_DEVICES=''

check() { # check PROGRAM ARGS: quiet unless valgrind has something to say
    local status=0
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
        --log-file=valgrind.log "$programs/$1" "${@:2}" >out.txt 2>&1 || status=$?
    printf '%s %s: status %d\n' "${1##*/}" "${*:2}" "$status"
    if ((status != 0)) || [[ -s valgrind.log ]]; then tail -n 20 out.txt && cat valgrind.log && exit 1; fi
}

check day16_gather/day16_gather
check day19_fused/day19_fused
check day20_readbench/day20_readbench --histories 16 --samples 6 --reads gather,fused,streaming --data . --plots .
check day20_readbench/day20_readbench --histories 16 --samples 6 --cache cold --threads 2 --dtype bf16 --data . --plots .
check day20_readbench/day20_plot --data . --plots .
check day20_readbench/day20_readbench --seed 0,1 --histories 16 --samples 6
check day21_kernel/day21_kernel --warm-up
check day21_kernel/day21_kernel
cp "$data"/day-21-kernel-h200.{csv,json} .
check replay/replay day-21-kernel-h200.csv --cpu "$data/day-21-cpu-cold-1.csv" --plots .
check day21_kernel/day21_plot --plots .
for day in day22_shared_heads day23_split_kv day24_async_copy day25_tensor_cores day26_one_launch day27_fp8_cache; do
    check "$day/$day"
done
for picture in road peers day24 day27; do # Days 22, 23, 25 and 26 are drawn as Day 24 is
    check road/road_plot "$picture" --plots .
done
