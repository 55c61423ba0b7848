#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# days_test.sh FOLDER TEST: runs the days' programs, which lie in FOLDER, as a learner would.
set -euo pipefail

programs=$(cd "$1" && pwd)
data=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../data" && pwd) # the recorded files
pages=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

day() { PATH=${PATH_OF_DAY:-$PATH} "$programs/$1/$1" "${@:2}"; }
short_sweep() { day day20_readbench --histories 16,64 --samples 6 --data . --plots . "$@"; }
status_of() { local status=0; "$@" >out.txt 2>err.txt || status=$?; echo "$status"; }
expect() { # expect WHAT IS SHOULD
    [[ $2 == "$3" ]] || { printf '%s is %s, should be %s\n' "$1" "$2" "$3"; cat out.txt err.txt; exit 1; }
}
says() { grep -qF -- "$2" "$1" || { printf '%s does not say: %s\n' "$1" "$2"; cat "$1"; exit 1; }; }
shows() { # shows FILE NAME: the file has the text that a page of docs/ shows as this program's output
    [[ $(<"$1") == *"$(<"$pages/output/$2")"* ]] || { printf 'the program no longer prints docs/output/%s\n' "$2"; cat "$1"; exit 1; }
}
num_lines() { wc -l <"$1" | tr -d ' '; }

test_day_16_shows_the_table_and_proves_the_gather() {
    expect status "$(status_of day day16_gather)" 0
    shows out.txt day-16-blocks.txt
    says out.txt 'never paged: yes, bit for bit'
    says out.txt 'bytes: copy'
    says out.txt 'time of one read: best'
}

test_day_19_attends_in_place_with_the_same_bits() {
    expect status "$(status_of day day19_fused)" 0
    says out.txt 'fused == gathered: yes, bit for bit'
    shows out.txt day-16-blocks.txt
    says out.txt 'none copied'
}

test_day_21_warms_up_with_a_kernel_of_one_line() {
    expect status "$(status_of day day21_kernel --warm-up)" 0
    shows out.txt day-21-warm-up.txt
    says out.txt 'on the CPU, thread after thread'
}

test_day_21_without_a_gpu_shows_what_each_head_reads() {
    expect status "$(status_of day day21_kernel)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    shows out.txt day-21-reads.txt
}

test_day_22_without_a_gpu_shows_that_a_group_reads_each_row_once() {
    expect status "$(status_of day day22_shared_heads)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    shows out.txt day-22-reads.txt
    says out.txt 'K and V hold 2560; Day 21 loads 5120, today 2560'
}

test_day_23_without_a_gpu_shows_a_split_history_and_its_merge() {
    expect status "$(status_of day day23_split_kv)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    shows out.txt day-23-splits.txt
    says out.txt '1   16384      33            264'
}

test_day_27_without_a_gpu_shows_what_scales_are_good_for() {
    expect status "$(status_of day day27_fp8_cache)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    shows out.txt day-27-scales.txt
}

test_day_20_writes_the_csv_the_sidecar_and_both_pictures() {
    expect status "$(status_of short_sweep)" 0
    expect "rows and header" "$(num_lines day-20-readbench.csv)" 7
    says err.txt 'measuring 2 of 2: 64 tokens'
    says out.txt 'Google Benchmark'
    says out.txt 'for each token'
    [[ -s day-20-readbench.json && -s paged-read-benchmark.png && -s paged-read-benchmark.svg ]]
    expect "files" "$(find . -type f | wc -l | tr -d ' ')" 6 # those four and our two logs: nothing half-written
}

test_day_20_reads_a_cold_pool_on_two_threads() {
    expect status "$(status_of day day20_readbench --histories 2048 --samples 60 --cache cold \
        --threads 2 --dtype bf16 --data . --plots .)" 0
    says day-20-readbench.csv 'bf16,2,cold'
}

test_day_20_asks_for_its_second_opinion_whatever_the_environment_asks_for() {
    local variable
    for variable in FILTER=zzz LIST_TESTS=true OUT=/nowhere/x REPETITIONS=3 REPORT_AGGREGATES_ONLY=true \
        FORMAT=none OUT_FORMAT=none TIME_UNIT=none MIN_WARMUP_TIME=60 PERF_COUNTERS=CYCLES; do
        export "BENCHMARK_$variable"
        expect "status with BENCHMARK_$variable" "$(status_of day day20_readbench --histories 16 --samples 6 --data . --plots .)" 0
        expect "second opinions with BENCHMARK_$variable" \
            "$(grep -cE '"(gather|fused)\.google_benchmark_us\.16": [0-9.]*[1-9]' day-20-readbench.json)" 2
        unset "BENCHMARK_${variable%%=*}"
    done
}

test_day_20_takes_streaming_as_a_third_curve() {
    expect status "$(status_of short_sweep --reads gather,fused,streaming)" 0
    expect "rows and header" "$(num_lines day-20-readbench.csv)" 9
    says out.txt 'streaming'
    expect status "$(status_of short_sweep --reads streaming)" 0
    expect "rows and header" "$(num_lines day-20-readbench.csv)" 5
}

test_day_20_reads_pools_of_fp8() {
    expect status "$(status_of short_sweep --reads gather,fused,streaming --dtype fp8_e4m3)" 0
    says day-20-readbench.csv 'fp8_e4m3,1,warm'
}

test_open_23_day_20_without_gnuplot_keeps_the_csv() {
    mkdir bin
    ln -s "$(command -v sh)" bin/sh
    expect status "$(PATH_OF_DAY=$scratch/bin status_of short_sweep)" 4
    says err.txt 'gnuplot'
    expect "rows and header" "$(num_lines day-20-readbench.csv)" 7
    [[ ! -e paged-read-benchmark.png ]]
}
test_day_20_refuses_a_wrong_flag_and_a_missing_folder() {
    expect status "$(status_of short_sweep --samples 0)" 2
    says err.txt 'day20: --samples: Value 0 not in range 6 to 1000000'
    expect "lines on stderr" "$(num_lines err.txt)" 1
    expect status "$(status_of day day20_readbench --data nowhere)" 3
    says err.txt 'day20: the folder nowhere does not exist'
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

sweep_before() { # leaves the files of a short sweep, and a copy of them in before/
    expect status "$(status_of short_sweep)" 0
    mkdir before
    cp day-20-readbench.* paged-read-benchmark.* before
}

# A sweep of minutes, ended by a signal once it measures.
interrupt_sweep() { # interrupt_sweep SIGNAL
    local pid tries=0
    # A shell without job control hands ignored signals to what it starts in the background.
    env --default-signal=INT,TERM "$programs/day20_readbench/day20_readbench" --histories 16384 \
        --samples 1000000 --data . --plots . >out.txt 2>err.txt &
    pid=$!
    until grep -q 'measuring 1 of 1' err.txt; do
        ((++tries < 300)) || { echo "the sweep does not begin" && exit 1; }
        sleep 0.1
    done
    kill -s "$1" "$pid"
    wait "$pid"
}

expect_the_files_before() { # expect_the_files_before [LEFT]: no file is half-written, and this one alone is left beside
    local file
    for file in before/*; do cmp "$file" "${file#before/}"; done
    expect "what is left beside" "$(find . -name '*.tmp')" "${1:+./$1}"
}

test_day_20_interrupted_leaves_the_files_of_the_run_before() {
    sweep_before
    expect status "$(status_of interrupt_sweep INT)" 130
    expect_the_files_before
}

test_day_20_terminated_or_killed_leaves_the_files_of_the_run_before() {
    sweep_before
    expect status "$(status_of interrupt_sweep TERM)" 143
    expect_the_files_before
    expect status "$(status_of interrupt_sweep KILL)" 137
    expect_the_files_before
}

test_day_20_on_a_full_disk_leaves_the_files_of_the_run_before() {
    sweep_before
    # No file may grow beyond 1 KiB: the write fails as on a full disk, for root, too.
    expect status "$(trap '' XFSZ; ulimit -f 1; status_of short_sweep)" 3
    says err.txt 'day20: cannot write ./day-20-readbench.csv: File too large'
    expect_the_files_before
}

test_day_20_finds_out_a_folder_that_takes_no_file_before_it_measures() {
    expect status "$(status_of day day20_readbench --data /proc/self --plots .)" 3 # not even root's files
    says err.txt 'day20: cannot write /proc/self/day-20-readbench.csv: '
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

test_day_20_finds_out_what_no_file_can_replace_before_it_measures() {
    local file
    for file in day-20-readbench.{csv,json} paged-read-benchmark.{png,svg}; do
        mkdir "$file"
        expect "status with a folder in the place of $file" "$(status_of short_sweep)" 3
        says err.txt "day20: cannot write ./$file: Is a directory"
        expect "lines on stderr" "$(num_lines err.txt)" 1
        rmdir "$file"
    done
    for file in 245 250; do
        expect "status of a name of $file letters" "$(status_of short_sweep --name "$(printf "%${file}s" | tr ' ' x)")" 3
        says err.txt 'File name too long'
        expect "lines on stderr" "$(num_lines err.txt)" 1
    done
    expect "files" "$(find . -type f | wc -l | tr -d ' ')" 2 # our logs
}

test_day_20_counts_the_step_until_the_pool_runs_out() {
    expect status "$(status_of day day20_readbench --time-the-step)" 1
    says err.txt 'out of blocks: the write needs 1, free are 0'
    says err.txt 'Time the read, not the step'
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

test_day_20_compares_seeds_and_repeats() {
    expect status "$(status_of day day20_readbench --seed 0,1 --histories 16 --samples 20)" 0
    says out.txt 'seed   1: best'
    says out.txt '% of each other'
    expect status "$(status_of day day20_readbench --repeat 3 --histories 16 --samples 20)" 0
    says out.txt '  3: best'
    says out.txt 'the best wandered by'
}

test_day_20_plot_draws_from_the_files_alone() {
    expect status "$(status_of short_sweep)" 0
    rm paged-read-benchmark.png
    expect status "$(status_of "$programs/day20_readbench/day20_plot" --data . --plots .)" 0
    [[ -s paged-read-benchmark.png ]]
    mkdir other && rm paged-read-benchmark.png
    expect status "$(status_of day day20_readbench --histories 16,64 --samples 6 --data other --plots other)" 0
    mv other/day-20-readbench.json . # this caption would be another run's
    expect status "$(status_of "$programs/day20_readbench/day20_plot" --data . --plots .)" 3
    says err.txt './day-20-readbench.csv: the record and its sidecar are of different runs: best_us of '
    expect "lines on stderr" "$(num_lines err.txt)" 1
    [[ ! -e paged-read-benchmark.png ]]
    rm day-20-readbench.csv
    expect status "$(status_of "$programs/day20_readbench/day20_plot" --data . --plots .)" 3
    says err.txt 'day-20-readbench.csv'
}

# compile_commas: a locale "commas" that writes 1.234,5, from the C library's own localedef; it complains that there is
# nothing but numbers, and writes those.
compile_commas() {
    local code
    printf 'LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n' >numbers
    {
        printf '<code_set_name> UTF-8\n<comment_char> %%\n<escape_char> /\n<mb_cur_min> 1\n<mb_cur_max> 1\nCHARMAP\n'
        for code in {0..127}; do printf '<U%04x> /x%02x\n' "$code" "$code"; done
        printf 'END CHARMAP\n'
    } >characters
    localedef -c -i numbers -f characters ./commas >/dev/null 2>&1 || true
}
with_commas() { env -u LC_ALL LOCPATH="$scratch" LC_NUMERIC=commas "$@"; }

test_open_20_a_locale_with_decimal_commas_changes_no_text_file_or_picture() {
    local plot=$programs/day21_kernel/day21_plot replay=$programs/replay/replay
    compile_commas
    [[ $(with_commas bash -c 'printf %.1f 2,5' 2>&1) == 2,5 ]] || exit 4 # no localedef
    cp "$data"/day-21-cpu-cold-1.{csv,json} "$data"/day-21-kernel-h200.{csv,json} .
    mkdir points commas_too
    expect status "$(status_of "$plot" --data . --plots points)" 0
    expect status "$(status_of with_commas "$plot" --data . --plots commas_too)" 0
    cmp points/day-21-kernel.svg commas_too/day-21-kernel.svg
    expect status "$(status_of "$replay" day-21-kernel-h200.csv --cpu day-21-cpu-cold-1.csv)" 0
    cp out.txt points.txt
    expect status "$(status_of with_commas "$replay" day-21-kernel-h200.csv --cpu day-21-cpu-cold-1.csv)" 0
    cmp points.txt out.txt
    expect status "$(status_of with_commas "$programs/day20_readbench/day20_readbench" \
        --histories 16,64 --samples 6 --data . --plots .)" 0
    if grep -E '[0-9],[0-9]+ (us|µs|GB)' out.txt paged-read-benchmark.svg; then exit 1; fi
    expect status "$(status_of "$programs/day20_readbench/day20_plot" --data . --plots .)" 0 # without it
}

plot_day_20() { "$programs/day20_readbench/day20_plot" --data . --plots .; }

test_a_full_disk_keeps_the_pictures_of_the_run_before() {
    sweep_before
    # No file may grow beyond 16 KiB, which is room for the script and not for the PNG; gnuplot's status is 0.
    expect status "$(trap '' XFSZ; ulimit -f 16; status_of plot_day_20)" 4
    says err.txt 'day20_plot: cannot draw ./paged-read-benchmark.png: cannot write ./paged-read-benchmark.png: File too large'
    expect "lines on stderr" "$(num_lines err.txt)" 1
    expect_the_files_before paged-read-benchmark.png.gp.tmp
}

test_two_plots_of_the_same_files_at_once_both_succeed() {
    local first second=0
    sweep_before
    plot_day_20 >other.txt 2>&1 &
    first=$!
    expect status "$(status_of plot_day_20)" 0
    wait "$first" || second=$?
    expect "status of the other" "$second" 0
    expect_the_files_before
}

slow_gnuplot() { # slow_gnuplot WORD: stands before gnuplot, and takes long for a script that has the word in its first line
    mkdir bin
    cat >bin/gnuplot <<STUB
#!/bin/bash
if read -r line <"\$2" && [[ \$line == *$1* ]]; then
    echo \$\$ >"$scratch/drawing"
    sleep 30
fi
exec "$(command -v gnuplot)" "\$@"
STUB
    chmod +x bin/gnuplot
}

end_while_it_draws() { # end_while_it_draws COMMAND: sends it a SIGTERM once the slow gnuplot is at work
    local pid tries=0
    rm -f drawing
    PATH=$scratch/bin:$PATH "$@" &
    pid=$!
    until [[ -s drawing ]]; do
        ((++tries < 300)) || { echo "nothing is drawn" && exit 1; }
        sleep 0.1
    done
    kill "$pid"
    wait "$pid"
}

test_a_plot_ended_while_it_draws_leaves_the_pictures_of_the_run_before() {
    local begin=$SECONDS
    sweep_before
    sed -i 's/,gather,/,gathered,/' day-20-readbench.csv before/day-20-readbench.csv # another picture
    sed -i 's/"gather"/"gathered"/' day-20-readbench.json before/day-20-readbench.json
    slow_gnuplot svg # when the PNG is done
    expect status "$(status_of end_while_it_draws "$programs/day20_readbench/day20_plot" --data . --plots .)" 143
    expect_the_files_before
    if kill -0 "$(<drawing)" 2>/dev/null; then echo "gnuplot is still there" && exit 1; fi
    ((SECONDS - begin < 25)) || { echo "it waited for gnuplot" && exit 1; }
}

test_day_20_ended_while_it_draws_keeps_its_csv_and_the_pictures_before() {
    sweep_before
    slow_gnuplot png
    expect status "$(status_of end_while_it_draws "$programs/day20_readbench/day20_readbench" --histories 16 \
        --samples 6 --data . --plots .)" 143
    expect "rows and header" "$(num_lines day-20-readbench.csv)" 4
    rm before/day-20-readbench.*
    expect_the_files_before
}

test_day_24_without_a_gpu_draws_the_ring() {
    expect status "$(status_of day day24_async_copy)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    shows out.txt day-24-ring.txt
    says out.txt stages_6
}

test_day_25_without_a_gpu_draws_who_holds_what() {
    expect status "$(status_of day day25_tensor_cores --shapes groups)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    shows out.txt day-25-fragments.txt
    says out.txt '128/8/128 bf16'
}

test_day_21_without_a_gpu_shows_the_record_and_the_cpu_beside_it() {
    expect status "$(status_of day day21_kernel)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    says out.txt 'Recorded, from'
    says out.txt '32/8/64, 1 sequence: the recorded reads of a CPU beside the kernel'
    says out.txt 'CPU: AMD EPYC, 2 CPUs, fp32, 1 thread, cold'
    says out.txt 'streaming/kernel'
    says out.txt 'GPU: NVIDIA H200, bf16, cold'
}

test_day_21_plot_draws_from_the_files_alone() {
    cp "$data"/day-21-cpu-cold-1.{csv,json} "$data"/day-21-kernel-h200.{csv,json} .
    expect status "$(status_of "$programs/day21_kernel/day21_plot" --data . --plots .)" 0
    says out.txt 'day-21-kernel.png and .svg'
    says day-21-kernel.svg 'GPU kernel'
    [[ -s day-21-kernel.png ]]
    cp "$data/day-21-cpu-warm.json" day-21-cpu-cold-1.json
    expect status "$(status_of "$programs/day21_kernel/day21_plot" --data . --plots .)" 3
    says err.txt 'day-21-cpu-cold-1.csv: the record and its sidecar are of different runs'
    cp "$data/day-21-cpu-cold-1.json" .
    sed -i '/,read_stream,/d' day-21-kernel-h200.csv
    expect status "$(status_of "$programs/day21_kernel/day21_plot" --data . --plots .)" 3
    says err.txt 'day21_plot: no GPU row of the read "read_stream" for 32/8/64, 1 sequence'
    rm day-21-cpu-cold-1.csv
    expect status "$(status_of "$programs/day21_kernel/day21_plot" --data . --plots .)" 3
    says err.txt 'day-21-cpu-cold-1.csv'
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

test_day_26_without_a_gpu_shows_its_plans_and_what_is_known_of_its_times() {
    expect status "$(status_of day day26_one_launch)" 0
    if ! grep -q 'No GPU is measured' out.txt; then exit 4; fi # there is one
    says out.txt 'One launch each, cut up by sizes alone, for 32/8/128 on 132 SMs'
    if [[ -e $data/day-26-as-peers-h200.csv ]]; then
        says out.txt 'times as fast as the best peer'
        says out.txt 'Recorded, from'
    else
        says out.txt 'Foretold, not measured'
    fi
    expect status "$(status_of day day26_one_launch --shapes other --cells HND)" 0
    says out.txt '32/8/128 bf16, HND'
    expect status "$(status_of day day26_one_launch --shapes plans --cells 8x1024)" 0
    says out.txt '32/8/64 fp8_e4m3'
    expect status "$(status_of day day26_one_launch --shapes plans --only w8_h1_s2 --cells 8x1024)" 0
    expect status "$(status_of day day26_one_launch --only w8_h1_s2)" 2
    says err.txt 'day26_one_launch: --only: road has no read w8_h1_s2; it has paged_attention, '
    expect status "$(status_of day day26_one_launch --cells nowhere)" 2
    says err.txt 'day26_one_launch: --cells: no cell of road has nowhere in its label'
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

test_the_road_is_drawn_from_the_days_that_have_a_record() {
    local plot=$programs/road/road_plot
    cp "$data"/day-21-kernel-h200.{csv,json} .
    expect status "$(status_of "$plot" road --data . --plots .)" 3
    says err.txt 'road_plot: Day 22 is left out: ./day-22-shared-heads-h200.csv is missing'
    says err.txt 'a road has 2 days or more'
    sed 's/,kernel,/,shared_heads,/' day-21-kernel-h200.csv >day-22-shared-heads-h200.csv
    cp day-21-kernel-h200.json day-22-shared-heads-h200.json
    cp "$data/day-22-shared-heads-h200.json" .
    expect status "$(status_of "$plot" road --data . --plots .)" 3
    says err.txt 'day-22-shared-heads-h200.csv: the record and its sidecar are of different runs'
    cp day-21-kernel-h200.json day-22-shared-heads-h200.json
    expect status "$(status_of "$plot" road --data . --plots .)" 0
    says out.txt 'road-to-the-ceiling.png and .svg'
    [[ -s road-to-the-ceiling.png && -s road-to-the-ceiling.svg ]]
}

test_each_day_of_the_road_has_a_picture_of_its_own() {
    local plot=$programs/road/road_plot
    sed 's/,kernel,/,split_kv,/; s/,gather,/,shared_heads,/' "$data/day-21-kernel-h200.csv" >day-23-split-kv-h200.csv
    cp "$data/day-21-kernel-h200.json" day-23-split-kv-h200.json
    expect status "$(status_of "$plot" day23 --data . --plots .)" 0
    [[ -s day-23-split-kv.png ]]
    says day-23-split-kv.svg 'split kv'
    cp "$data/day-22-shared-heads-h200.json" day-23-split-kv-h200.json
    expect status "$(status_of "$plot" day23 --data . --plots .)" 3
    says err.txt 'day-23-split-kv-h200.csv: the record and its sidecar are of different runs'
    expect status "$(status_of "$plot" day25 --data . --plots .)" 3
    says err.txt 'day-25-tensor-cores-h200'
}

test_the_peers_are_drawn_from_two_files_with_the_claims() {
    local plot=$programs/road/road_plot
    mkdir peers
    cp "$data/peers/h200-peers.csv" peers
    expect status "$(status_of "$plot" peers --data . --plots .)" 3
    says err.txt 'day-26-as-peers-h200.csv'
    expect "lines on stderr" "$(num_lines err.txt)" 1
    sed 's/,kernel,/,paged_attention,/' "$data/day-21-kernel-h200.csv" >day-26-as-peers-h200.csv
    cp "$data/day-21-kernel-h200.json" day-26-as-peers-h200.json
    expect status "$(status_of "$plot" peers --data . --plots .)" 0
    says out.txt 'head_dim 64, '
    says out.txt 'lost: '
    says peers.svg 'vllm_paged'
    [[ -s peers.png ]]
    expect status "$(status_of "$plot" lanes)" 2
}

# replay_record ARGS: the replay of a copy of the record, beside the CPU's record unless ARGS name another
replay_record() {
    if [[ $* == *--cpu* ]]; then
        "$programs/replay/replay" day-21-kernel-h200.csv "$@"
    else
        replay_record_of day-21-kernel-h200.csv "$@"
    fi
}
replay_record_of() { "$programs/replay/replay" "$1" --cpu "$data/day-21-cpu-cold-1.csv" "${@:2}"; }

test_replay_computes_the_record_from_its_samples() {
    cp "$data"/day-21-kernel-h200.{csv,json} .
    expect status "$(status_of replay_record)" 0
    says out.txt 'rows are what their samples say'
    says out.txt '32/8/64, 1 sequence: NVIDIA H200, bf16; own machine: AMD EPYC, 2 CPUs, fp32'
    says out.txt '  65536  read_stream'
    says out.txt 'NVIDIA H200 · CUDA'
    [[ ! -e day-21-kernel-h200-replay.png ]]
    expect status "$(status_of replay_record --plots .)" 0
    says out.txt 'drew ./day-21-kernel-h200-replay.png and .svg'
    says day-21-kernel-h200-replay.svg 'own streaming read'
    [[ -s day-21-kernel-h200-replay.png ]]
}

test_replay_names_the_figure_that_its_samples_do_not_give() {
    cp "$data"/day-21-kernel-h200.{csv,json} .
    sed -i '2s/,cold,32,8,64,1,16,uniform,16,NHD,[0-9.]*,/,cold,32,8,64,1,16,uniform,16,NHD,4.0,/' \
        day-21-kernel-h200.csv
    expect status "$(status_of replay_record)" 1
    says err.txt 'replay: kernel 32/8/64 num_seqs 1, 16 tokens: best_us is 4 in the record'
    expect "lines on stderr" "$(num_lines err.txt)" 1
    rm day-21-kernel-h200.json
    expect status "$(status_of replay_record)" 3
    says err.txt 'day-21-kernel-h200.json'
}

test_replay_refuses_a_record_that_is_not_whole() {
    cp "$data"/day-21-kernel-h200.json .
    head -1 "$data"/day-21-kernel-h200.csv >day-21-kernel-h200.csv
    expect status "$(status_of replay_record)" 1
    says err.txt 'replay: the record has no rows'
    head -20 "$data"/day-21-kernel-h200.csv >day-21-kernel-h200.csv
    expect status "$(status_of replay_record)" 1
    says err.txt 'replay: the record has no row for the samples of '
    { cat "$data"/day-21-kernel-h200.csv && tail -1 "$data"/day-21-kernel-h200.csv; } >day-21-kernel-h200.csv
    expect status "$(status_of replay_record)" 1
    says err.txt 'there are two such rows'
    sed '3s/NVIDIA H200/NVIDIA H100/' "$data"/day-21-kernel-h200.csv >day-21-kernel-h200.csv
    expect status "$(status_of replay_record)" 1
    says err.txt 'machine is "NVIDIA H100" in the record'
    sed 's/,cold,/,warm,/' "$data"/day-21-kernel-h200.csv >day-21-kernel-h200.csv
    expect status "$(status_of replay_record)" 1
    says err.txt 'cache is "warm" in the record'
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

test_replay_finds_every_record_whole() {
    local record
    for record in "$data"/day-2[1-9]-*h200.csv; do
        expect "status of $record" "$(status_of replay_record_of "$record")" 0
        says out.txt "$record: all $(($(num_lines "$record") - 1)) rows are what their samples say"
    done
}

test_replay_fails_as_a_file_does_for_the_cpu_run_beside_the_record() {
    cp "$data"/day-21-kernel-h200.{csv,json} "$data"/day-21-cpu-cold-1.csv .
    mkdir folder.csv
    local cpu
    for cpu in nowhere.csv folder.csv day-21-cpu-cold-1.csv; do # the last one without its sidecar
        expect "status with $cpu" "$(status_of replay_record --cpu $cpu)" 3
        says err.txt "${cpu%.csv}"
        expect "lines on stderr" "$(num_lines err.txt)" 1
    done
    cp "$data"/day-21-cpu-cold-2.json day-21-cpu-cold-1.json
    expect status "$(status_of replay_record --cpu day-21-cpu-cold-1.csv)" 3
    says err.txt 'day-21-cpu-cold-1.csv: the record and its sidecar are of different runs'
}

test_replay_measures_this_machine_when_it_has_no_file() {
    cp "$data"/day-21-kernel-h200.{csv,json} .
    expect status "$(status_of "$programs/replay/replay" day-21-kernel-h200.csv --samples 40 --longest 64)" 0
    says err.txt 'measuring 2 of 2: 64 tokens'
    says out.txt 'own machine: '
    expect status "$(status_of "$programs/replay/replay")" 2
}

test_replay_finds_out_where_no_picture_can_be_before_it_measures() {
    local replay=$programs/replay/replay
    cp "$data"/day-21-kernel-h200.{csv,json} .
    expect status "$(status_of "$replay" day-21-kernel-h200.csv --samples 6 --longest 16 --plots nowhere)" 3
    says err.txt 'replay: the folder nowhere does not exist'
    expect "lines on stderr" "$(num_lines err.txt)" 1
    mkdir day-21-kernel-h200-replay.svg
    expect status "$(status_of "$replay" day-21-kernel-h200.csv --samples 6 --longest 16 --plots .)" 3
    says err.txt 'replay: cannot write ./day-21-kernel-h200-replay.svg: Is a directory'
    expect "lines on stderr" "$(num_lines err.txt)" 1
}

test_every_program_says_what_it_does_and_refuses_what_it_does_not_know() {
    local program words wanted number=0
    for program in $(programs_of_days); do
        expect "status of ${program##*/} --help" "$(status_of "$program" --help)" 0
        says out.txt 'Exit status: 0 fine'
        expect "lines of ${program##*/} --help on stderr" "$(num_lines err.txt)" 0
        for words in $'--a\nb' $'x\ny' $'\033[31mred'; do
            wanted=2
            if [[ ${program##*/} == replay && $words != --* ]]; then wanted=3; fi # the name of a file that is missing
            expect "status of ${program##*/} with a stray word" "$(status_of "$program" "$words")" "$wanted"
            expect "lines of ${program##*/} on stderr" "$(num_lines err.txt)" 1
            expect "letters of control" "$(tr -d '\n' <err.txt | grep -c '[[:cntrl:]]' || true)" 0
        done
        number=$((number + 1))
    done
    ((number >= 14)) || { echo "only $number programs were found" && exit 1; }
}

test_replay_refuses_values_that_ask_for_nothing() {
    local words
    cp "$data"/day-21-kernel-h200.{csv,json} .
    for words in '--longest 0' '--longest -5' '--longest 010' '--cpu=' '--plots='; do
        expect "status of $words" "$(status_of "$programs/replay/replay" day-21-kernel-h200.csv --samples 6 "${words%%[ =]*}" "${words#*[ =]}")" 2
        says err.txt "replay: ${words%%[ =]*}: "
        expect "lines on stderr" "$(num_lines err.txt)" 1
    done
}

arguments_of() { # arguments_of PROGRAM: a short run of it, one argument a line; most need none
    case $1 in
        day20_readbench) printf '%s\n' --histories 16 --samples 6 --data . --plots . ;;
        day20_plot) printf '%s\n' --data . --plots . ;;
        day21_plot) printf '%s\n' --plots . ;;
        replay) printf '%s\n' "$data/day-21-kernel-h200.csv" --cpu "$data/day-21-cpu-cold-1.csv" ;;
        road_plot) printf '%s\n' peers --plots . ;;
    esac
}

programs_of_days() { # all of them, one a line
    local program
    for program in "$programs"/*/{day*,replay,road_plot}; do
        if [[ -f $program && -x $program ]]; then printf '%s\n' "$program"; fi
    done
}

onto_a_full_disk() { # onto_a_full_disk PROGRAM ARGS: on a machine without a GPU
    CUDA_VISIBLE_DEVICES='' "$@" 2>err.txt >/dev/full
}

expect_lost_output() { # expect_lost_output PROGRAM ARGS: status 3, and the last line on stderr says why
    local status=0
    onto_a_full_disk "$@" || status=$?
    expect "status of ${*##*/}" "$status" 3
    tail -n 1 err.txt >last.txt
    says last.txt ': cannot write standard output: No space left on device'
    expect "lines of ${*##*/} on stderr" "$(grep -vc '^measuring ' err.txt)" 1
}

test_a_full_standard_output_fails_every_program_as_a_file_does() {
    local program words number=0
    [[ -w /dev/full ]] || exit 4 # not this system's
    expect status "$(status_of day day20_readbench --histories 16 --samples 6 --data . --plots .)" 0
    touch out.txt
    for program in $(programs_of_days); do
        mapfile -t words < <(arguments_of "${program##*/}")
        expect_lost_output "$program" "${words[@]}"
        expect_lost_output "$program" --help
        number=$((number + 1))
    done
    ((number >= 14)) || { echo "only $number programs were found" && exit 1; }
    for words in --time-the-step --repeat=2 --seed=0,1; do
        expect_lost_output "$programs/day20_readbench/day20_readbench" --histories 16 --samples 20 "$words"
    done
    expect_lost_output "$programs/day21_kernel/day21_kernel" --warm-up
}

without_stderr() { # without_stderr PROGRAM ARGS: the statuses with stderr on a full disk and with stderr closed
    local full=0 closed=0
    CUDA_VISIBLE_DEVICES='' "$@" >out.txt 2>/dev/full || full=$?
    CUDA_VISIBLE_DEVICES='' "$@" >out.txt 2>&- || closed=$?
    echo "$full $closed"
}

test_a_standard_error_that_cannot_be_written_changes_no_status() {
    local program words number=0 day20=$programs/day20_readbench/day20_readbench
    [[ -w /dev/full ]] || exit 4
    touch err.txt
    expect status "$(status_of day day20_readbench --histories 16 --samples 6 --data . --plots .)" 0
    for program in $(programs_of_days); do
        mapfile -t words < <(arguments_of "${program##*/}")
        expect "statuses of ${program##*/}" "$(without_stderr "$program" "${words[@]}")" '0 0'
        expect "statuses of ${program##*/} --bogus" "$(without_stderr "$program" --bogus)" '2 2'
        number=$((number + 1))
    done
    ((number >= 14)) || { echo "only $number programs were found" && exit 1; }
    expect "statuses without a folder" "$(without_stderr "$day20" --data nowhere)" '3 3'
    expect "statuses of a pool that runs out" "$(without_stderr "$day20" --time-the-step)" '1 1'
    expect "statuses of a missing file" "$(without_stderr "$programs/road/road_plot" day25 --data . --plots .)" '3 3'
    expect "statuses of replay's own run" "$(without_stderr "$programs/replay/replay" \
        "$data/day-21-kernel-h200.csv" --samples 6 --longest 16)" '0 0'
    rm day-20-readbench.* paged-read-benchmark.*
    expect "statuses of a sweep" "$(without_stderr "$day20" --histories 16 --samples 6 --data . --plots .)" '0 0'
    expect "rows and header" "$(num_lines day-20-readbench.csv)" 4
    [[ -s day-20-readbench.json && -s paged-read-benchmark.png && -s paged-read-benchmark.svg ]]
    if grep -q measuring day-20-readbench.* paged-read-benchmark.*; then echo "stderr is in a file" && exit 1; fi
}

test_a_failure_keeps_its_status_on_a_full_standard_output() {
    local status=0
    [[ -w /dev/full ]] || exit 4
    onto_a_full_disk "$programs/day20_readbench/day20_readbench" --time-the-step || status=$?
    expect status "$status" 1
    says err.txt 'out of blocks'
}

"$2"
