#!/usr/bin/env bash
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
#
# open_build_test.sh COMPILER test_NAME: published faults of builds. Configures the repository in a scratch
# folder on a made-up machine; builds nothing. One function is one test.
#
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
compiler=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset CUDACXX CUDA_PATH CUDA_HOME CUDAToolkit_ROOT CMAKE_CXX_COMPILER_LAUNCHER CMAKE_CUDA_COMPILER_LAUNCHER
output='' status=0 path=$scratch/bin

fail() { printf '%s\n---- status %s\n%s\n' "$1" "$status" "$output" && exit 1; }
says() { [[ $(tr -s ' \n' ' ' <<<"$output") == *"$1"* ]] || fail "wanted: $1"; } # whatever the line breaks
ends_with() { [[ $status == "$1" ]] || fail "wanted the status $1"; }

run() { # run COMMAND ...: its status and all that it says
    status=0
    output=$("$@" 2>&1) || status=$?
}

plain_path() { # a PATH with the tools of a build and no nvcc; /usr/local/cuda is not searched through PATH
    local tool
    mkdir "$scratch/bin"
    for tool in cmake ninja git sh uname ar ranlib ld as "$(basename "$compiler")"; do
        ln -s "$(command -v "$tool")" "$scratch/bin/$tool"
    done
}

configure() { # configure [OPTION ...]: the library alone unless an option says otherwise
    run env PATH="$path" cmake -S "$root" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
        -DNANOSERVE_TESTS=OFF -DNANOSERVE_DAYS=OFF "$@"
}

stub_nvcc() { # an nvcc that refuses the host compiler, as it does when that is too new
    printf '#!/bin/sh\necho "error: unsupported GNU version!" >&2\nexit 1\n' >"$scratch/bin/nvcc"
    chmod +x "$scratch/bin/nvcc"
}

test_open_02_fast_math_stops_the_build() {
    local flag
    for flag in -ffast-math -Ofast -ffinite-math-only '-fassociative-math -fno-signed-zeros -fno-trapping-math'; do
        # shellcheck disable=SC2086 # the last one is three
        run "$compiler" -std=c++20 $flag -fsyntax-only -I "$root/src" \
            "$root/src/nanoserve/attention/detail/row_ops.cpp"
        [[ $status != 0 ]] || fail "$flag is taken"
        says 'build without -ffast-math'
    done
}

test_open_21_without_nvcc_the_gpu_targets_are_off() {
    plain_path
    configure
    ends_with 0
    says 'GPU targets are off'
}

test_open_21_cuda_that_is_asked_for_and_missing_is_an_error_that_says_what_to_do() {
    plain_path
    configure -DNANOSERVE_CUDA=ON
    ends_with 1
    says 'Install the CUDA Toolkit'
}

test_open_21_an_nvcc_that_refuses_the_host_compiler_turns_the_gpu_targets_off() {
    plain_path
    stub_nvcc
    configure
    ends_with 0
    says 'GPU targets are off'
}

test_open_21_an_nvcc_that_is_asked_for_and_refuses_names_the_option_for_the_host_compiler() {
    plain_path
    stub_nvcc
    configure -DNANOSERVE_CUDA=ON
    ends_with 1
    says 'CMAKE_CUDA_HOST_COMPILER'
}

configure_for() { # configure_for NVCC ARCHITECTURES
    rm -rf "$scratch/build"
    configure -DNANOSERVE_CUDA=ON -DCMAKE_CUDA_COMPILER="$1" -DCMAKE_CUDA_ARCHITECTURES="$2"
}

test_open_21_an_architecture_below_sm_80_is_refused_by_name() { # so that no kernel of it can do nothing
    local architectures
    plain_path
    stub_nvcc # it ends each of these, so only the refusal is looked for
    for architectures in 75 52-real 75-virtual '90a-real;75' '70;72'; do
        configure_for "$scratch/bin/nvcc" "$architectures"
        ends_with 1
        says "CMAKE_CUDA_ARCHITECTURES=$architectures"
        says 'the kernels need sm_80 or later'
    done
    for architectures in 80 86-real 90a-real '80-real;90a-real' 100-virtual 120f OFF; do
        configure_for "$scratch/bin/nvcc" "$architectures"
        [[ $output != *'the kernels need'* ]] || fail "$architectures is refused"
    done
}

test_open_21_an_old_architecture_does_not_matter_where_the_gpu_targets_are_off() {
    plain_path
    configure -DCMAKE_CUDA_ARCHITECTURES=75
    ends_with 0
    says 'GPU targets are off'
}

test_open_21_all_architectures_of_an_nvcc_that_knows_older_ones_are_refused() {
    local nvcc
    nvcc=$(command -v nvcc) || exit 4 # no real one here
    nvcc --list-gpu-arch | grep -qE '_[5-7][0-9]$' || exit 4 # it knows none below sm_80
    path=$PATH # nvcc calls more tools than a plain one has
    configure_for "$nvcc" all
    ends_with 1
    says 'the kernels need sm_80 or later'
}

test_open_24_without_catch2_the_library_configures_and_the_tests_say_what_they_need() {
    plain_path
    configure -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -DNANOSERVE_CUDA=OFF
    ends_with 0
    configure -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -DNANOSERVE_CUDA=OFF -DNANOSERVE_TESTS=ON
    ends_with 1
    says 'configure with -DNANOSERVE_TESTS=OFF'
}

test_open_24_catch2_2_is_not_taken_for_catch2_3() {
    plain_path
    mkdir "$scratch/Catch2"
    echo >"$scratch/Catch2/Catch2Config.cmake"
    cat >"$scratch/Catch2/Catch2ConfigVersion.cmake" <<'VERSION'
set(PACKAGE_VERSION 2.13.10)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
VERSION
    configure -DNANOSERVE_CUDA=OFF -DNANOSERVE_TESTS=ON -DCatch2_DIR="$scratch/Catch2" \
        -DCMAKE_MAKE_PROGRAM="$scratch/bin/ninja" \
        -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF
    ends_with 1
    says 'The tests need Catch2 3'
}

test_open_24_no_build_file_downloads() {
    run git -C "$root" grep -nE 'FetchContent|ExternalProject|file\(DOWNLOAD' -- '*.cmake' '*CMakeLists.txt'
    ends_with 1 # nothing found
}

test_open_24_the_site_is_no_part_of_a_plain_build() {
    plain_path
    configure -DNANOSERVE_CUDA=OFF
    ends_with 0
    run ninja -C "$scratch/build" -t targets all
    ends_with 0
    [[ $output != *doxygen* && $output != *html* ]] || fail "a plain build knows the site"
}

test_the_page_names_the_tests_of_every_published_fault() {
    local number row named called
    for number in $(seq -w 1 24); do
        row=$(grep "^| OPEN-$number |" "$root/docs/reliability.md") || fail "OPEN-$number is not in the table"
        grep -rqE "OPEN-$number: |test_open_${number}_" "$root/tests" || fail "no test is called OPEN-$number"
        named=$(grep -oE '[a-z0-9_]+_test`' <<<"$row" | tr -d '`' | sort) || true # times are no tests
        called=$(grep -rlE "\"OPEN-$number: |^test_open_${number}_" --include='*_test.*' "$root/tests" |
            sed 's|.*/||; s|[.].*||' | sort) || true
        [[ $named == "$called" ]] || fail "OPEN-$number is in the files $called, the table names $named"
    done
}

"$2"
