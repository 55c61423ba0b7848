// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Draws the pictures of the days with a kernel: the road to the ceiling, our read among its peers,
// and each day's own. Reads data/, times nothing.
#include <nanoserve/model/model_config.hpp>
#include <nanoserve/report/peer_comparison.hpp>
#include <nanoserve/report/plot/plot_kernel.hpp>
#include <nanoserve/report/plot/plot_peers.hpp>
#include <nanoserve/report/plot/plot_road.hpp>
#include <nanoserve/report/program_end.hpp>
#include <nanoserve/report/record.hpp>
#include <nanoserve/report/standard_error.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace nanoserve;

namespace {

constexpr const char* kProgram = "road_plot";

// As in Day 20.
enum ExitStatus : int { kFine = 0, kWrongUsage = 2, kFilesFailed = 3, kPlotFailed = 4 };

struct Folders {
    std::filesystem::path data = std::filesystem::path(NANOSERVE_ROOT) / "data";
    std::filesystem::path plots = std::filesystem::path(NANOSERVE_ROOT) / "plots";
};

struct Day {
    int number;
    const char *idea, *read, *csv;
    const char* before = "";  // the read that it is held against
};
constexpr Day kDays[] = {
    {21, "first kernel", "kernel", "day-21-kernel-h200.csv"},
    {22, "shared heads", "shared_heads", "day-22-shared-heads-h200.csv", "general_attention"},
    {23, "split KV", "split_kv", "day-23-split-kv-h200.csv", "shared_heads"},
    {24, "async copy", "async_copy", "day-24-async-copy-h200.csv", "split_kv"},
    {25, "tensor cores", "tensor_cores", "day-25-tensor-cores-h200.csv", "async_copy"},
    {26, "one launch", "paged_attention", "day-26-one-launch-h200.csv"},
    {27, "fp8 cache", "paged_attention", "day-27-fp8-cache-h200.csv"},
};
constexpr report::RoadCell kCells[] = {{1, 4096}, {64, 1024}, {64, 16384}};

constexpr const char* kPeers = "peers/h200-peers.csv";
constexpr const char* kOurs = "day-26-as-peers-h200.csv";  // timed as they were
constexpr const char* kOurRead = "paged_attention";

std::string source_of(const report::Record& record, const char* file) {
    return fmt::format("{} · {}", report::plot_caption(record.sidecar.provenance), file);
}

void tell_drawn(const std::filesystem::path& stem) {
    fmt::print("drew {}.png and .svg\n", stem.string());
}

void draw_road(const Folders& folders) {
    std::vector<report::RoadDay> days;
    std::vector<std::string> foot = {
        "The ceiling is the load-only read of the same bytes in the same run. Cards differ by "
        "a few percent."};
    for (const Day& day : kDays) {
        const auto csv = folders.data / day.csv;
        if (std::filesystem::exists(csv)) {
            report::Record record = report::read_record(csv);
            foot.push_back(fmt::format("Day {}: {}", day.number, source_of(record, day.csv)));
            days.push_back({day.number, day.idea, day.read, std::move(record.rows)});
        } else {
            report::complain(kProgram, fmt::format("Day {} is left out: {} is missing", day.number,
                                                   csv.string()));
        }
    }
    // The newest is enough: a line for each day would leave the picture no room.
    const std::vector<std::string> newest = {foot.front(), foot.back()};
    report::plot_road(days, kCells, folders.plots / "road-to-the-ceiling", newest);
    tell_drawn(folders.plots / "road-to-the-ceiling");
}

// The rows that a picture of equal lengths has room for. Day 27's file has bf16 rows besides.
constexpr std::int64_t kLongestDrawn = 65536;  // tokens; the next tick would be too near
std::vector<report::ReadRow> drawable_rows(std::vector<report::ReadRow> rows) {
    const bool has_fp8 = std::ranges::any_of(
        rows, [](const report::ReadRow& row) { return row.dtype == "fp8_e4m3"; });
    std::erase_if(rows, [&](const report::ReadRow& row) {
        return row.pattern != "uniform" || row.seq_len > kLongestDrawn ||
               (has_fp8 && row.dtype != "fp8_e4m3");
    });
    return rows;
}

// One day of the road on the axes of Day 20: today's read, the one before, and the ceilings.
void draw_day(const Folders& folders, int number) {
    const Day& day = *std::ranges::find(kDays, number, &Day::number);
    const report::Record record = report::read_record(folders.data / day.csv);
    const auto stem = folders.plots /
                      std::string_view(day.csv).substr(0, std::string_view(day.csv).find("-h200"));
    std::vector<std::string> stages;
    for (int i = 1; number == 24 && i <= 6; ++i) {
        stages.push_back(fmt::format("stages_{}", i));
    }
    report::plot_kernel({.cpu = {},
                         .gpu = drawable_rows(record.rows),
                         .shape = llama_3_2_1b().attention,
                         .num_seqs = {1, 64},
                         .kernel = day.read,
                         .baseline = day.before,
                         .others = stages},
                        stem,
                        {"Marker: fastest sample. Bar: 5th to 95th percentile. Limit: load-only in "
                         "the same run. One read takes all sequences of its batch.",
                         source_of(record, day.csv)});
    tell_drawn(stem);
}

void draw_peers(const Folders& folders) {
    const report::Record ours = report::read_record(folders.data / kOurs);
    const auto peers = folders.data / kPeers;
    const auto cells = report::compare_with_peers(ours.rows, kOurRead, report::read_peers(peers));
    fmt::print("{}", report::format_claims(report::claims_of(cells)));
    report::plot_peers(cells, folders.plots / "peers",
                       {fmt::format("Ours: {}", source_of(ours, kOurs)),
                        fmt::format("Peers: data/{}, another run on another card; r: ragged "
                                    "lengths of this mean",
                                    kPeers)});
    tell_drawn(folders.plots / "peers");
}

int run(int argc, char** argv) {
    Folders folders;
    std::string picture;
    CLI::App app{"Draws the road to the ceiling, the peers, or one day, from data/.", kProgram};
    app.add_option("picture", picture, "which one")
        ->required()
        ->check(
            CLI::IsMember({"road", "peers", "day22", "day23", "day24", "day25", "day26", "day27"}));
    app.add_option("--data", folders.data, "folder of the CSV files");
    app.add_option("--plots", folders.plots, "folder that gets the pictures");
    app.footer(
        "Exit status: 0 fine; 2 wrong usage; 3 a data file could not be read, or standard output "
        "not written; 4 the\npicture could not be drawn. A run that is interrupted leaves both "
        "pictures as they were.");
    if (!days::parse_or_help(app, argc, argv)) {
        return kFine;
    }
    if (picture == "road") {
        draw_road(folders);
    } else if (picture == "peers") {
        draw_peers(folders);
    } else {
        draw_day(folders, std::stoi(picture.substr(3)));
    }
    return kFine;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program(kProgram, run(argc, argv));
    } catch (const CLI::ParseError& error) {
        return report::fail_program(kProgram, kWrongUsage, error);
    } catch (const report::PlotError& error) {
        return report::fail_program(kProgram, kPlotFailed, error);
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, kFilesFailed, error);
    }
}
