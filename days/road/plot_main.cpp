// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Draws the two pictures that belong to no single day: the road to the ceiling, and our read among
// its peers. Reads data/, times nothing.
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/peer_comparison.hpp>
#include <nanoserve/report/plot/plot_peers.hpp>
#include <nanoserve/report/plot/plot_road.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

using namespace nanoserve;

namespace {

// As in Day 20.
enum ExitStatus : int { kFine = 0, kWrongUsage = 2, kFilesFailed = 3, kPlotFailed = 4 };

struct Folders {
    std::filesystem::path data = std::filesystem::path(NANOSERVE_ROOT) / "data";
    std::filesystem::path plots = std::filesystem::path(NANOSERVE_ROOT) / "plots";
};

struct Day {
    int number;
    const char *idea, *read, *csv;
};
constexpr Day kDays[] = {
    {21, "first kernel", "kernel", "day-21-kernel-h200.csv"},
    {22, "shared heads", "shared_heads", "day-22-shared-heads-h200.csv"},
    {23, "split KV", "split_kv", "day-23-split-kv-h200.csv"},
    {24, "async copy", "async_copy", "day-24-async-copy-h200.csv"},
    {25, "tensor cores", "tensor_cores", "day-25-tensor-cores-h200.csv"},
    {26, "one launch", "paged_attention", "day-26-one-launch-h200.csv"},
    {27, "fp8 cache", "paged_attention", "day-27-fp8-cache-h200.csv"},
};
constexpr report::RoadCell kCells[] = {{1, 4096}, {64, 1024}, {64, 16384}};

constexpr const char* kPeers = "peers/h200-peers.csv";
constexpr const char* kOurs = "day-26-as-peers-h200.csv";  // timed as they were
constexpr const char* kOurRead = "paged_attention";

std::string source_of(const std::filesystem::path& csv) {
    const auto sidecar = report::read_sidecar(report::sidecar_path(csv));
    return fmt::format("{} · {}", report::plot_caption(sidecar.provenance),
                       csv.filename().string());
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
            days.push_back({day.number, day.idea, day.read, report::read_csv(csv)});
            foot.push_back(fmt::format("Day {}: {}", day.number, source_of(csv)));
        } else {
            fmt::print(stderr, "road_plot: Day {} is left out: {} is missing\n", day.number,
                       csv.string());
        }
    }
    // The newest is enough: a line for each day would leave the picture no room.
    const std::vector<std::string> newest = {foot.front(), foot.back()};
    report::plot_road(days, kCells, folders.plots / "road-to-the-ceiling", newest);
    tell_drawn(folders.plots / "road-to-the-ceiling");
}

void draw_peers(const Folders& folders) {
    const auto ours = folders.data / kOurs;
    const auto peers = folders.data / kPeers;
    const auto cells =
        report::compare_with_peers(report::read_csv(ours), kOurRead, report::read_peers(peers));
    fmt::print("{}", report::format_claims(report::claims_of(cells)));
    report::plot_peers(cells, folders.plots / "peers",
                       {fmt::format("Ours: {}", source_of(ours)),
                        fmt::format("Peers: data/{}, another run on another card; r: ragged "
                                    "lengths of this mean",
                                    kPeers)});
    tell_drawn(folders.plots / "peers");
}

int fail(ExitStatus status, const std::exception& error) {
    fmt::print(stderr, "road_plot: {}\n", error.what());
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    Folders folders;
    std::string picture;
    CLI::App app{"Draws the road to the ceiling, or the peers, from data/.", "road_plot"};
    app.add_option("picture", picture, "which one")
        ->required()
        ->check(CLI::IsMember({"road", "peers"}));
    app.add_option("--data", folders.data, "folder of the CSV files");
    app.add_option("--plots", folders.plots, "folder that gets the pictures");
    try {
        app.parse(argc, argv);
        picture == "road" ? draw_road(folders) : draw_peers(folders);
        return kFine;
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return kFine;
    } catch (const CLI::ParseError& error) {
        return fail(kWrongUsage, error);
    } catch (const report::PlotError& error) {
        return fail(kPlotFailed, error);
    } catch (const std::exception& error) {
        return fail(kFilesFailed, error);
    }
}
