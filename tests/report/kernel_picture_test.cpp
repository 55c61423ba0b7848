// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/plot/kernel_picture.hpp>
#include <nanoserve/report/plot/kernel_script.hpp>
#include <nanoserve/report/plot/plot_kernel.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <report/comma_locale.hpp>
#include <report/sample_rows.hpp>
#include <report/temporary_folder.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::report;
using namespace nanoserve::report::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr AttentionShape kShape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};

std::vector<ReadRow> cpu_rows() {
    std::vector<ReadRow> rows;
    append_read(rows, "gather", {9, 32, 130});
    append_read(rows, "fused", {10, 38, 157});
    append_read(rows, "streaming", {2.6, 16, 66});
    append_read(rows, "read_floor", {1.1, 14, 60});
    for (ReadRow& row : rows) {
        row.cache = "cold";
    }
    return rows;
}

void append_batch(std::vector<ReadRow>& rows, std::int64_t num_seqs,
                  const std::vector<double>& kernel, const std::vector<double>& ceiling) {
    const std::size_t first = rows.size();
    append_read(rows, "kernel", kernel);
    append_read(rows, "gather", {7, 14, 40});
    append_read(rows, "load_only_nhd", ceiling);
    append_read(rows, "load_only_hnd", ceiling);
    append_read(rows, "read_stream", {1.9, 1.9, 2});
    for (ReadRow& row : std::span(rows).subspan(first)) {
        row.machine = "NVIDIA H200";
        row.dtype = "bf16";
        row.threads.reset();
        row.cache = "cold";
        row.num_seqs = num_seqs;
    }
}

std::vector<ReadRow> gpu_rows() {
    std::vector<ReadRow> rows;
    append_batch(rows, 1, {4.3, 10.6, 36}, {2.6, 2.6, 3});
    append_batch(rows, 64, {9.7, 24, 82}, {3, 4.6, 10.25});
    append_batch(rows, 64, {20, 40, 160}, {5, 8, 20});
    for (ReadRow& row : std::span(rows).last(15)) {
        row.head_dim = 128;
    }
    return rows;
}

KernelRows sample() {
    return {.cpu = cpu_rows(), .gpu = gpu_rows(), .shape = kShape, .num_seqs = {1, 64}};
}

std::vector<std::string> names_of(const KernelChart& chart) {
    std::vector<std::string> names;
    for (const NamedCurve& curve : chart.curves) {
        names.push_back(curve.name);
    }
    return names;
}

void remove_read(std::vector<ReadRow>& rows, const std::string& read) {
    std::erase_if(rows, [&](const ReadRow& row) { return row.read == read; });
}

}  // namespace

TEST_CASE("the CPU stands beside the kernel only where it read as many sequences",
          "[report][pure]") {
    const KernelPicture picture = kernel_picture(sample(), {});
    REQUIRE(picture.charts.size() == 2);
    CHECK(names_of(picture.charts[0]) ==
          std::vector<std::string>{"CPU read floor", "GPU read stream", "GPU load-only",
                                   "CPU gather", "CPU fused", "CPU streaming", "GPU gather",
                                   "GPU kernel"});
    CHECK(names_of(picture.charts[1]) ==
          std::vector<std::string>{"GPU read stream", "GPU load-only", "GPU gather", "GPU kernel"});
    CHECK(picture.charts[0].heading == "1 sequence");
    CHECK(picture.charts[1].heading == "64 sequences");
}

TEST_CASE("the kernel's title says how far it is from its ceiling", "[report][pure]") {
    const KernelPicture picture = kernel_picture(sample(), {});
    CHECK(picture.heading.title ==
          "At 256 tokens the kernel takes 12.0 times as long as its ceiling with 1 sequence, 8.00 "
          "times with 64");
    REQUIRE(picture.charts[1].gap);
    CHECK(picture.charts[1].gap->text == "8.00 ×");
    CHECK(picture.charts[1].gap->from.y > picture.charts[1].gap->to.y);
    CHECK_THAT(picture.charts[0].remark, ContainsSubstring("kernel 12.0") &&
                                             ContainsSubstring("GPU gather 13.3") &&
                                             ContainsSubstring("CPU streaming 1.10"));
}

TEST_CASE("the kernel's title says where a batch ends sooner than the first", "[report][pure]") {
    KernelRows rows = sample();
    std::erase_if(rows.gpu,
                  [](const ReadRow& row) { return row.num_seqs == 64 && row.seq_len == 256; });
    CHECK(kernel_picture(rows, {}).heading.title ==
          "At 256 tokens the kernel takes 12.0 times as long as its ceiling with 1 sequence, 5.22 "
          "times with 64 at 64");
}

TEST_CASE("the kernel's subtitle tells the CPU's dtype from the GPU's", "[report][pure]") {
    const std::string text = kernel_picture(sample(), {}).heading.subtitle;
    CHECK_THAT(text, ContainsSubstring("32 query heads, 8 KV heads, head_dim 64") &&
                         ContainsSubstring("CPU: fp32, 1 thread, cold") &&
                         ContainsSubstring("GPU: bf16, half the bytes, cold"));
}

TEST_CASE("both charts have the same axes and hold every point", "[report][pure]") {
    const KernelPicture picture = kernel_picture(sample(), {});
    CHECK(picture.charts[0].cost.min == picture.charts[1].cost.min);
    CHECK(picture.charts[0].cost.max == picture.charts[1].cost.max);
    for (const KernelChart& chart : picture.charts) {
        for (const NamedCurve& curve : chart.curves) {
            for (const CostAtHistory& point : curve.points) {
                CHECK(chart.box.contains(
                    chart_pixel(chart, static_cast<double>(point.seq_len), point.best_us)));
            }
        }
    }
}

TEST_CASE("the names at the ends of the curves keep their order and their distance",
          "[report][pure]") {
    for (const KernelChart& chart : kernel_picture(sample(), {}).charts) {
        REQUIRE(chart.names.size() == chart.curves.size());
        std::vector<std::pair<double, double>> places;  // wanted and given
        for (std::size_t i = 0; i < chart.names.size(); ++i) {
            const CostAtHistory& last = chart.curves[i].points.back();
            places.emplace_back(chart_pixel(chart, 256, last.best_us).y, chart.names[i].at.y);
        }
        std::ranges::sort(places);
        for (std::size_t i = 1; i < places.size(); ++i) {
            CHECK(places[i].second - places[i - 1].second >= 22 - 1e-9);
        }
    }
}

TEST_CASE("a read that is missing is named, with what was looked for", "[report][pure]") {
    KernelRows rows = sample();
    const std::string read = GENERATE("kernel", "gather", "load_only_nhd", "read_stream");
    remove_read(rows.gpu, read);
    CHECK_THROWS_MATCHES(kernel_picture(rows, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("no GPU row of the read \"" + read +
                                                          "\" for 32/8/64, 1 sequence")));
}

TEST_CASE("a CPU read that is missing is named, too", "[report][pure]") {
    KernelRows rows = sample();
    const std::string read = GENERATE("gather", "fused", "streaming", "read_floor");
    remove_read(rows.cpu, read);
    CHECK_THROWS_MATCHES(
        kernel_picture(rows, {}), std::invalid_argument,
        MessageMatches(ContainsSubstring("no CPU row of the read \"" + read + "\" for 32/8/64")));
}

TEST_CASE("a later day's kernel stands beside the one before it, and no CPU", "[report][pure]") {
    KernelRows rows = sample();
    rows.cpu.clear();
    for (ReadRow& row : rows.gpu) {
        row.read = row.read == "kernel"   ? "split_kv"
                   : row.read == "gather" ? "shared_heads"
                                          : row.read;
    }
    rows.kernel = "split_kv";
    rows.baseline = "shared_heads";
    rows.others = {"load_only_hnd"};
    const KernelPicture picture = kernel_picture(rows, {});
    CHECK(names_of(picture.charts[0]) == std::vector<std::string>{"GPU read stream",
                                                                  "GPU load-only", "load only hnd",
                                                                  "shared heads", "split kv"});
    CHECK_THAT(picture.heading.title, ContainsSubstring("At 256 tokens split kv takes 12.0 times"));
    CHECK_THAT(picture.charts[1].remark, ContainsSubstring("split kv 8.00 · shared heads"));
    CHECK_THAT(picture.heading.subtitle, !ContainsSubstring("CPU"));
    rows.baseline = "";
    CHECK(kernel_picture(rows, {}).charts[0].curves.size() == 4);
}

TEST_CASE("a picture with a CPU of other batches is refused", "[report][pure]") {
    KernelRows rows = sample();
    for (ReadRow& row : rows.cpu) {
        row.num_seqs = 2;
    }
    CHECK_THROWS_MATCHES(
        kernel_picture(rows, {}), std::invalid_argument,
        MessageMatches(ContainsSubstring("no CPU row for 32/8/64 and 1 or 64 sequences")));
}

TEST_CASE("the kernel and its ceiling need a history in common", "[report][pure]") {
    KernelRows rows = sample();
    std::erase_if(rows.gpu, [](const ReadRow& row) {
        return (row.read == "kernel") == (row.seq_len == 256);
    });
    CHECK_THROWS_MATCHES(kernel_picture(rows, {}), std::invalid_argument,
                         MessageMatches(ContainsSubstring("no history in common")));
}

TEST_CASE("the kernel's script is the same in every locale and holds both charts",
          "[report][pure]") {
    const auto script = [] { return kernel_script(kernel_picture(sample(), {"it's", "two"})); };
    const std::string expected = script();
    CHECK_THAT(expected, ContainsSubstring("$CHART0_CURVE7 << EOD") &&
                             ContainsSubstring("$CHART1_CURVE3 << EOD") &&
                             ContainsSubstring("16 4.3 NaN NaN\n") &&
                             ContainsSubstring("set multiplot") && ContainsSubstring("it''s") &&
                             ContainsSubstring("unset multiplot") && ContainsSubstring("'two'"));
    const CommaLocale commas;
    CHECK(script() == expected);
}

TEST_CASE("gnuplot draws the kernel's PNG and SVG", "[report][pure]") {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        SKIP("needs gnuplot");
    }
    const TemporaryFolder folder;
    plot_kernel(sample(), folder.path() / "a kernel", {"commit unknown"});
    CHECK(folder.names() == std::vector<std::string>{"a kernel.png", "a kernel.svg"});
    CHECK(read_file(folder.path() / "a kernel.png").starts_with("\x89PNG"));
    CHECK_THAT(read_file(folder.path() / "a kernel.svg"), ContainsSubstring("</svg>"));
}
