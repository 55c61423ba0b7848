// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cpu_curve.hpp>
#include <report/sample_rows.hpp>

#include <string>
#include <vector>

using namespace nanoserve::day21;
using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<ReadRow> cpu_rows() {
    std::vector<ReadRow> rows;
    append_read(rows, "fused", {10, 40, 160, 640});
    append_read(rows, "streaming", {3, 16, 64, 250});
    append_read(rows, "read_floor", {1, 14, 60, 225});
    return rows;
}

std::vector<ReadRow> gpu_rows() {
    std::vector<ReadRow> rows;
    append_read(rows, "kernel", {4, 10, 32});
    append_read(rows, "load_only_nhd", {2.5, 2.5, 2.75});
    for (ReadRow& row : rows) {
        row.machine = "NVIDIA H200";
        row.dtype = "bf16";
        row.threads.reset();
        row.cache = "cold";
    }
    return rows;
}

}  // namespace

TEST_CASE("the kernel stands beside the CPU's curve, history by history", "[days][pure]") {
    const std::string text = format_beside_cpu(cpu_rows(), gpu_rows());
    CHECK_THAT(text, ContainsSubstring("32/8/64, 1 sequence") &&
                         ContainsSubstring("CPU: AMD EPYC, 2 CPUs, fp32, 1 thread, warm") &&
                         ContainsSubstring("GPU: NVIDIA H200, bf16, cold"));
    CHECK_THAT(text,
               ContainsSubstring("CPU fused") && ContainsSubstring("CPU streaming") &&
                   ContainsSubstring("    256     160 us        64.0 us    32.0 us     2.75 us"
                                     "              2.00\n"));
    CHECK_THAT(text, !ContainsSubstring("1024"));  // the kernel was not measured there
}

TEST_CASE("batches and shapes that the CPU did not read stay away from its curve", "[days][pure]") {
    std::vector<ReadRow> gpu = gpu_rows();
    for (ReadRow& row : gpu) {
        row.num_seqs = 8;
    }
    CHECK(format_beside_cpu(cpu_rows(), gpu).empty());
    gpu = gpu_rows();
    for (ReadRow& row : gpu) {
        row.head_dim = 128;
    }
    CHECK(format_beside_cpu(cpu_rows(), gpu).empty());
    CHECK(format_beside_cpu({}, gpu_rows()).empty());
}
