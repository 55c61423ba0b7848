// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/record.hpp>
#include <nanoserve/report/replay.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <gpu_bench/decode_options.hpp>
#include <gpu_bench/read_cell.hpp>
#include <gpu_bench/result_text.hpp>
#include <gpu_bench/results.hpp>
#include <report/temporary_folder.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::gpu_bench;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr AttentionShape kShape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};

ReadCell ragged_cell() {
    return {.shape = kShape, .num_seqs = 64, .seq_len = 1024, .pattern = Pattern::ragged};
}

ReadCell skewed_cell() {
    return {.shape = kShape, .num_seqs = 64, .seq_len = 1024, .pattern = Pattern::skewed};
}

DecodeDay sample_day() {
    return {.program = "day99_sample",
            .about = "A sample.",
            .reads = {{"one", [](const ReadCell&) { return 1.0; }},
                      {"two", [](const ReadCell&) { return 2.0; }}},
            .baseline = "one",
            .sets = {{"road", "day-99-sample", {ragged_cell(), skewed_cell()}},
                     {"other", "day-99-other", {skewed_cell()}}},
            .story = [] {}};
}

std::variant<DecodeOptions, Refusal> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "day99_sample");
    return parse_decode_options(sample_day(), static_cast<int>(arguments.size()), arguments.data());
}

// A cell with a baseline, a candidate and a ceiling, of 10 samples each: a replay of 4 reads.
CellResult sample_result(const ReadCell& cell) {
    CellResult result{.cell = cell,
                      .kv_bytes = 4000,
                      .num_layers = 2,
                      .l2_bytes = 2000,
                      .facts = {{"turns", 2.0}}};
    const auto samples = [](double ns) {
        std::vector<double> all(10);
        std::iota(all.begin(), all.end(), 4 * ns);
        return all;
    };
    const auto add = [&](const char* read, const char* role, double ns) {
        result.reads.push_back({read, "NHD", role, ReadTiming(samples(ns), 4), ns / 2e3, {}, {}});
    };
    add("one", "baseline", 4000);
    add("two", "candidate", 2000);
    add("load_only_nhd", "alone", 1000);
    result.reads[1].comparison = ReadComparison(samples(4000), samples(2000), 4);
    return result;
}

// A disk that has room for the CSV and for no sidecar.
ssize_t fill_the_disk(int descriptor, const void* bytes, std::size_t num_bytes) {
    if (*static_cast<const char*>(bytes) == '{') {
        errno = ENOSPC;
        return -1;
    }
    return ::write(descriptor, bytes, num_bytes);
}

// Asked to end in the middle of both files.
template <int signal>
ssize_t write_and_get(int descriptor, const void* bytes, std::size_t num_bytes) {
    ::raise(signal);
    return ::write(descriptor, bytes, num_bytes);
}

void write_record(const std::filesystem::path& folder, const std::vector<CellResult>& cells,
                  report::WriteBytes write_bytes = &::write) {
    write_files(folder, "day-99", {}, {"NVIDIA H200", "", "", ""}, cells, write_bytes);
}

// The status of a process that writes the record and goes on to measure.
int status_of_writer(const std::filesystem::path& folder, const std::vector<CellResult>& cells,
                     report::WriteBytes write_bytes) {
    const pid_t writer = ::fork();
    if (writer == 0) {
        std::signal(SIGINT, SIG_DFL);
        std::signal(SIGTERM, SIG_DFL);
        write_record(folder, cells, write_bytes);
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(writer, &status, 0) == writer);
    return status;
}

}  // namespace

TEST_CASE("a pool holds each block of its batch once, in a shuffled order", "[days][pure]") {
    const ReadCell cell = GENERATE(ragged_cell(), skewed_cell());
    const BlockTables tables = make_tables(cell);
    std::vector<BlockId> used;
    for (std::size_t seq = 0; seq < tables.seq_lens.size(); ++seq) {
        const auto row = tables.block_tables.begin() +
                         static_cast<std::ptrdiff_t>(seq) * tables.max_blocks_per_seq;
        const std::int64_t count = blocks_needed(tables.seq_lens[seq], cell.block_size);
        used.insert(used.end(), row, row + count);
        CHECK(std::all_of(row + count, row + tables.max_blocks_per_seq,
                          [](BlockId id) { return id == BlockTables::kNoBlock; }));
    }
    CHECK(std::ssize(used) == num_used_blocks(tables, cell.block_size));
    CHECK_FALSE(std::ranges::is_sorted(used));
    std::ranges::sort(used);
    std::vector<BlockId> all(used.size());
    std::iota(all.begin(), all.end(), 0);
    CHECK(used == all);
}

TEST_CASE("ragged lengths lie between 1 and 2 seq_len - 1 and are the same in every run",
          "[days][pure]") {
    const std::vector<std::int32_t> lengths = make_tables(ragged_cell()).seq_lens;
    CHECK(lengths == make_tables(ragged_cell()).seq_lens);
    const auto [shortest, longest] = std::ranges::minmax(lengths);
    CHECK(shortest >= 1);
    CHECK(longest <= 2047);
    CHECK(longest > 1536);
    // The first numbers of a mt19937 with the seed 64 * 131 + 1024, as the peers' harness takes
    // them.
    std::mt19937 random(64 * 131 + 1024);
    CHECK(lengths[0] == 1 + static_cast<std::int32_t>(random() % 2047));
    CHECK(lengths[1] == 1 + static_cast<std::int32_t>(random() % 2047));
    CHECK(make_tables(ragged_cell()).max_blocks_per_seq == blocks_needed(longest, 16));
}

TEST_CASE("a skewed batch has one long history, and its mean in the key", "[days][pure]") {
    const std::vector<std::int32_t> lengths = make_tables(skewed_cell()).seq_lens;
    CHECK(std::ranges::count(lengths, 65536) == 1);
    CHECK(std::ranges::count(lengths, 1024) == 63);
    CHECK(mean_seq_len(skewed_cell()) == 2032);
    CHECK(kv_bytes(skewed_cell(), make_tables(skewed_cell())) ==
          kShape.kv_bytes(64 * 2032, DType::bf16));
}

TEST_CASE("layers rotate as in the peers' harness, and a replay has many reads", "[days][pure]") {
    CHECK(rotation_of(32'768) == Rotation{16, 128});
    CHECK(rotation_of(25'000'000) == Rotation{16, 80});
    CHECK(rotation_of(134'217'728) == Rotation{3, 15});
    CHECK(rotation_of(400'000'001) == Rotation{1, 5});
    CHECK(rotation_of(17'179'869'184) == Rotation{1, 1});
}

TEST_CASE("OPEN-19: layers are cold from four times the second-level cache on", "[days][pure]") {
    constexpr std::int64_t l2_bytes = 62'914'560;  // 60 MiB
    const auto state_of = [](std::int64_t kv_bytes) {
        const std::int64_t num_bytes = rotation_of(kv_bytes).num_layers * kv_bytes;
        return report::cache_state(static_cast<double>(num_bytes), l2_bytes);
    };
    CHECK(state_of(32'768) == "warm");
    CHECK(state_of(l2_bytes / 4 - 1) == "warm");  // of 16 layers
    CHECK(state_of(l2_bytes / 4) == "cold");
    CHECK(state_of(17'179'869'184) == "cold");
}

TEST_CASE("a slow read goes through the layers once", "[days][pure]") {
    CHECK(reads_of_a_replay({16, 128}, 5.0) == 128);
    CHECK(reads_of_a_replay({16, 128}, 500.0) == 16);
}

TEST_CASE("the oracle gets the longest and the shortest history, and others as time allows",
          "[days][pure]") {
    CHECK(seqs_to_check({5, 100, 3, 50}, 10) == std::vector<std::int64_t>{1, 2});
    CHECK(seqs_to_check({7}, 0) == std::vector<std::int64_t>{0});
    CHECK(seqs_to_check(std::vector<std::int32_t>(8, 10), 60) ==
          std::vector<std::int64_t>{0, 2, 4, 6});
    CHECK(seqs_to_check(std::vector<std::int32_t>(3, 10), 1000) ==
          std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("the peers' cells are those of their file", "[days][pure]") {
    std::set<std::string> ours;
    for (const std::int32_t head_dim : {64, 128}) {
        for (const ReadCell& cell : peer_cells({32, 8, head_dim})) {
            ours.insert(label_of(cell));
        }
    }
    CHECK(ours.size() == 54);
    std::set<std::string> theirs;
    std::ifstream file(NANOSERVE_PEERS);
    for (std::string line; std::getline(file, line);) {
        std::vector<std::string> fields;
        std::istringstream cells(line);
        for (std::string field; std::getline(cells, field, ',');) {
            fields.push_back(field);
        }
        if (fields.size() > 7 && fields[3] == "bf16") {
            theirs.insert(fields[0] + '/' + fields[1] + '/' + fields[2] + " bf16 " + fields[4] +
                          'x' + fields[5] + (fields[6] == "1" ? " ragged" : " uniform") +
                          " NHD 16");
        }
    }
    CHECK(ours == theirs);
}

TEST_CASE("an order of the pool becomes its layout", "[days][pure]") {
    ReadCell cell = ragged_cell();
    cell.block_size = 4;
    CHECK(layout_of(cell, 3).is_dense_nhd());
    cell.order = PoolOrder::hnd;
    CHECK(layout_of(cell, 3).head_stride == 4 * 64);
    cell.order = PoolOrder::interleaved;
    CHECK(layout_of(cell, 3).block_stride == 2 * 4 * 8 * 64);
}

TEST_CASE("the flags choose a set, cells and reads", "[days][pure]") {
    const auto all = std::get<DecodeOptions>(parse({}));
    CHECK(all.set.stem == "day-99-sample");
    CHECK(all.set.cells.size() == 2);
    CHECK(all.takes("one"));
    const auto some = std::get<DecodeOptions>(
        parse({"--cells", " 64x1024 , 7x7 ", "--only", "two", "--quick", "--check-only"}));
    CHECK(some.set.cells == std::vector<ReadCell>{ragged_cell()});
    CHECK_FALSE(some.takes("one"));
    CHECK(some.takes("two"));
    CHECK(some.num_samples < all.num_samples);
    CHECK(some.check_only);
    CHECK(std::get<DecodeOptions>(parse({"--as-peers"})).as_peers);
    CHECK(std::get<DecodeOptions>(parse({"--shapes", "other"})).set.stem == "day-99-other");
}

TEST_CASE("a flag that is wrong is named, with its value", "[days][pure]") {
    const auto refused = [](std::vector<const char*> arguments) {
        const auto refusal = std::get<Refusal>(parse(std::move(arguments)));
        CHECK(refusal.status == kWrongUsage);
        return refusal.text;
    };
    CHECK_THAT(refused({"--only", "three"}), ContainsSubstring("three"));
    CHECK_THAT(refused({"--shapes", "round"}), ContainsSubstring("round"));
    CHECK_THAT(refused({"--cells", "nowhere"}), ContainsSubstring("nowhere"));
    CHECK_THAT(refused({"--data", "no/such/folder"}), ContainsSubstring("no/such/folder"));
    CHECK_THAT(refused({"--samples", "5"}), ContainsSubstring("--samples"));
    CHECK(std::get<Refusal>(parse({"--help"})).status == kFine);
}

TEST_CASE("rows hold times of one read, the ceiling and the comparison", "[days][pure]") {
    const CellResult cell = sample_result(ragged_cell());
    const auto rows = to_rows("a machine", {&cell, 1});
    REQUIRE(rows.size() == 3);
    CHECK(rows[1].read == "two");
    CHECK(rows[1].pattern == "ragged");
    CHECK(rows[1].best_us == 2.0);
    CHECK(rows[1].floor_us == 1.0);
    CHECK(rows[1].predicted_us == 1.0);
    CHECK(rows[1].gb_per_s == 2.0);
    CHECK(rows[1].speedup == 2.0);
    CHECK(rows[1].verdict == "faster");
    CHECK(!rows[0].speedup);
    CHECK(csv_name("day-99-sample", "NVIDIA H200") == "day-99-sample-h200.csv");
}

TEST_CASE("files that can't be written are found out before a measurement", "[days][pure]") {
    const report::testing::TemporaryFolder folder;
    CHECK_NOTHROW(require_outputs(folder.path(), "day-99", "NVIDIA H200"));
    CHECK(folder.names().empty());
    std::filesystem::create_directory(folder.path() / "day-99-h200.json");
    CHECK_THROWS_AS(require_outputs(folder.path(), "day-99", "NVIDIA H200"), report::FileError);
    CHECK_THROWS_AS(require_outputs("/proc/self", "day-99", "NVIDIA H200"), report::FileError);
}

TEST_CASE("a full disk leaves the record before, CSV and sidecar", "[days][pure]") {
    const report::testing::TemporaryFolder folder;
    write_record(folder.path(), {sample_result(ragged_cell())});
    CHECK_THROWS_MATCHES(
        write_record(folder.path(), {sample_result(ragged_cell()), sample_result(skewed_cell())},
                     fill_the_disk),
        report::FileError,
        MessageMatches(ContainsSubstring("/day-99-h200.json: No space left on device")));
    CHECK(report::read_record(folder.path() / "day-99-h200.csv").rows.size() == 3);
    CHECK(folder.names() == std::vector<std::string>{"day-99-h200.csv", "day-99-h200.json"});
}

TEST_CASE("a run that is cut short leaves the record before, and its own cells beside it",
          "[days][pure]") {
    const report::testing::TemporaryFolder folder;
    const std::vector<CellResult> before = {sample_result(ragged_cell())};
    const std::vector<CellResult> all = {sample_result(ragged_cell()),
                                         sample_result(skewed_cell())};
    const report::GpuFacts gpu = {"NVIDIA H200", "", "", ""};
    const auto num_rows = [&](const char* name) {
        return report::read_record(folder.path() / name).rows.size();
    };
    write_record(folder.path(), before);
    write_files(folder.path(), unfinished("day-99"), {}, gpu, all);
    CHECK(num_rows("day-99-h200.csv") == 3);
    CHECK(num_rows("day-99-unfinished-h200.csv") == 6);
    finish_files(folder.path(), "day-99", {}, gpu, all);
    CHECK(num_rows("day-99-h200.csv") == 6);
    CHECK(folder.names() == std::vector<std::string>{"day-99-h200.csv", "day-99-h200.json"});
}

TEST_CASE("a signal ends a day with a kernel once CSV and sidecar are whole", "[days][pure]") {
    const auto [signal, write] =
        GENERATE(std::pair<int, report::WriteBytes>{SIGINT, write_and_get<SIGINT>},
                 std::pair<int, report::WriteBytes>{SIGTERM, write_and_get<SIGTERM>});
    const report::testing::TemporaryFolder folder;
    write_record(folder.path(), {sample_result(ragged_cell())});
    const int status = status_of_writer(
        folder.path(), {sample_result(ragged_cell()), sample_result(skewed_cell())}, write);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);  // a shell says 128 more
    CHECK(report::read_record(folder.path() / "day-99-h200.csv").rows.size() == 6);
    CHECK(folder.names() == std::vector<std::string>{"day-99-h200.csv", "day-99-h200.json"});
}

TEST_CASE("a record of ragged and uniform batches is what its samples say", "[days][pure]") {
    ReadCell uniform = ragged_cell();
    uniform.pattern = Pattern::uniform;
    std::vector<CellResult> cells = {sample_result(ragged_cell()), sample_result(uniform)};
    cells[1].kv_bytes = 8000;
    const auto rows = to_rows("a machine", cells);
    const report::Sidecar sidecar = to_sidecar({}, {}, cells);
    CHECK_NOTHROW(
        report::require_same_rows(rows, report::rows_from_samples(rows, sidecar), sidecar));
}

TEST_CASE("a record of cold and warm cells labels each row, and is whole", "[days][pure]") {
    ReadCell uniform = ragged_cell();
    uniform.pattern = Pattern::uniform;
    std::vector<CellResult> cells = {sample_result(ragged_cell()), sample_result(uniform)};
    cells[1].l2_bytes = 2001;  // more than a quarter of 2 layers of 4000 bytes
    const report::Sidecar sidecar =
        to_sidecar(to_pairs(std::get<DecodeOptions>(parse({}))), {}, cells);
    const auto rows = to_rows(report::machine_name(sidecar.provenance), cells);
    CHECK(rows.front().cache == "cold");
    CHECK(rows.back().cache == "warm");
    CHECK_NOTHROW(report::require_whole_record(rows, sidecar));
    CHECK(std::ranges::find(sidecar.fitted, std::pair(report::fact_name("l2_bytes", rows.back()),
                                                      std::optional(2001.0))) !=
          sidecar.fitted.end());
    CHECK_THAT(format_rows(rows), ContainsSubstring("64 sequences of 1024 tokens, warm\n"));
}

TEST_CASE("a cell that was skipped says why, in the sidecar and on the terminal", "[days][pure]") {
    const CellResult cell{.cell = skewed_cell(), .skipped = "too large"};
    CHECK(to_rows("", {&cell, 1}).empty());
    const report::Sidecar sidecar = to_sidecar({}, {}, {&cell, 1});
    CHECK(sidecar.options ==
          NamedOptions{{"skipped 32/8/64 num_seqs 64 skewed seq_len 2032", "too large"}});
    CHECK_THAT(format_remarks(cell),
               ContainsSubstring("64x2032 skewed") && ContainsSubstring("skipped, too large"));
}

TEST_CASE("the record's table has a line for each read but the ceilings", "[days][pure]") {
    const CellResult cell = sample_result(ragged_cell());
    const std::string text = format_record(to_rows("", {&cell, 1}));
    CHECK_THAT(text, ContainsSubstring("32/8/64 bf16\n") && ContainsSubstring("one ") &&
                         ContainsSubstring("two ") && ContainsSubstring("2.00 us") &&
                         ContainsSubstring("ragged") && !ContainsSubstring("load_only_nhd"));
    CHECK_THAT(format_remarks(cell), ContainsSubstring("two against the baseline: speedup 2.00"));
}
