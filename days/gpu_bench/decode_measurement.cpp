// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "decode_measurement.hpp"

#include "device_batch.hpp"
#include "gpu_check.hpp"
#include "gpu_facts.hpp"

#include <nanoserve/bench/time_in_turn.hpp>
#include <nanoserve/bench/time_read.hpp>
#include <nanoserve/model/require.hpp>

#include <fmt/core.h>
#include <kernels/ceilings.hpp>
#include <kernels/clock.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/cuda_error.hpp>
#include <kernels/general_attention.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>

namespace nanoserve::gpu_bench {
namespace {

constexpr std::int64_t kMaxMemoryBytes = 64'000'000'000;

const DecodeLaunch& find_launch(const std::vector<DecodeLaunch>& launches,
                                const std::string& read) {
    const auto found = std::ranges::find(launches, read, &DecodeLaunch::read);
    require(found != launches.end(), "launches.cpp has no read called ", read);
    return *found;
}

// A read on one layer of the batch.
using LayerRead = std::function<void(std::int64_t layer)>;

// The batch of one cell and its reads, each recorded over all layers in turn.
class RecordedReads {
  public:
    RecordedReads(const ReadCell& cell, const Rotation& rotation)
        : batch_(cell, rotation.num_layers), rotation_(rotation) {}

    [[nodiscard]] GraphReplay record(const LayerRead& read, std::int64_t num_reads) const {
        read(0);  // the first launch of a kernel loads its code: not a thing to record
        return GraphReplay(stream(), [&] {
            for (std::int64_t i = 0; i < num_reads; ++i) {
                read(i % rotation_.num_layers);
            }
        });
    }

    // The replay borrows the launch; its workspace lives as long as this.
    [[nodiscard]] GraphReplay record(const DecodeLaunch& launch, std::int64_t num_reads) {
        const Workspace workspace =
            add_workspace(launch.workspace_bytes ? launch.workspace_bytes(batch_.params(0)) : 0);
        return record(
            [&](std::int64_t layer) { launch.launch(batch_.params(layer), workspace, stream()); },
            num_reads);
    }

    // What every sequence of every read is compared with.
    [[nodiscard]] GraphReplay general() const {
        return record(
            [&](std::int64_t layer) { general_attention(batch_.params(layer), stream()); },
            rotation_.num_layers);
    }
    using LoadOnly = void (*)(const PagedAttentionParams&, std::uint32_t*, cudaStream_t);
    [[nodiscard]] GraphReplay ceiling(LoadOnly load_only, PoolOrder order,
                                      std::int64_t num_reads) const {
        return record(
            [&](std::int64_t layer) {
                load_only(batch_.params_as(order, layer), nullptr, stream());
            },
            num_reads);
    }
    [[nodiscard]] GraphReplay read_stream(std::int64_t num_reads) const {
        return record(
            [&](std::int64_t layer) {
                nanoserve::read_stream(batch_.layer_data(layer), batch_.layer_bytes(), nullptr,
                                       stream());
            },
            num_reads);
    }

    [[nodiscard]] const DeviceBatch& batch() const { return batch_; }
    [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  private:
    [[nodiscard]] Workspace add_workspace(std::size_t num_bytes) {
        if (num_bytes == 0) {
            return {};
        }
        workspaces_.emplace_back(num_bytes);
        NANOSERVE_CUDA_TRY(cudaMemset(workspaces_.back().data(), 0, num_bytes));
        return {workspaces_.back().data(), num_bytes};
    }

    DeviceBatch batch_;
    Rotation rotation_;
    Stream stream_;
    std::vector<DeviceBuffer> workspaces_;
};

// The results of a cell and, for each of its reads, the replay that is timed.
struct Measurement {
    CellResult result;
    std::vector<GraphReplay> replays;
    std::vector<std::int64_t> num_reads;  // of each replay
};

void record_all(const std::vector<DecodeLaunch>& launches, const Rotation& rotation,
                RecordedReads& reads, Measurement& measurement) {
    for (const ReadResult& read : measurement.result.reads) {
        const std::int64_t num_reads = reads_of_a_replay(rotation, read.predicted_us);
        measurement.num_reads.push_back(num_reads);
        measurement.replays.push_back(
            read.read == "load_only_nhd"   ? reads.ceiling(load_only_nhd, PoolOrder::nhd, num_reads)
            : read.read == "load_only_hnd" ? reads.ceiling(load_only_hnd, PoolOrder::hnd, num_reads)
            : read.read == "load_only_by_head"
                ? reads.ceiling(load_only_by_head, PoolOrder::nhd, num_reads)
            : read.read == "read_stream"
                ? reads.read_stream(num_reads)
                : reads.record(find_launch(launches, read.read), num_reads));
    }
}

// The ceilings, which write nothing, stand behind all reads that do.
void check_all(const RecordedReads& reads, GpuCheck& check, const GraphReplay& general,
               Measurement& measurement) {
    check("general_attention", reads.stream(), general);
    const std::vector<std::byte> expected = check.outputs();
    for (std::size_t i = 0; i < measurement.replays.size(); ++i) {
        ReadResult& read = measurement.result.reads[i];
        if (read.role != "alone") {
            const double error = check(read.read, reads.stream(), measurement.replays[i]);
            read.relative_error = std::max(error, read.relative_error.value_or(0.0));
            check.require_same(read.read, "general_attention", expected);
        }
    }
}

// As the peers were timed: all samples of a replay one after the other, each on an idle GPU, so
// that a sample holds the host's time to hand it over.
std::vector<std::vector<double>> time_alone(CudaEventClock& clock,
                                            std::span<const GraphReplay> replays,
                                            std::size_t num_samples) {
    std::vector<std::vector<double>> intervals_ns;
    for (const GraphReplay& replay : replays) {
        const ReadTiming timing =
            time_read(clock, replay, {.num_samples = num_samples, .num_warmup = 3});
        intervals_ns.emplace_back(timing.samples_ns().begin(), timing.samples_ns().end());
    }
    return intervals_ns;
}

// From nanoseconds of a replay to those of one read.
void set_timings(Measurement& measurement, std::vector<std::vector<double>> intervals_ns) {
    std::vector<ReadResult>& reads = measurement.result.reads;
    for (std::size_t i = 0; i < reads.size(); ++i) {
        for (double& interval : intervals_ns[i]) {
            interval /= static_cast<double>(measurement.num_reads[i]);
        }
        reads[i].timing = ReadTiming(intervals_ns[i]);
    }
    const auto baseline = std::ranges::find(reads, "baseline", &ReadResult::role);
    for (std::size_t i = 0; i < reads.size(); ++i) {
        if (reads[i].role == "candidate" && baseline != reads.end()) {
            const auto at = static_cast<std::size_t>(baseline - reads.begin());
            reads[i].comparison = ReadComparison(intervals_ns[at], intervals_ns[i], 1);
        }
    }
}

// Leaves the reads of the day that take part in a cell: those that --only names and that take its
// sizes. When there is none, result.skipped says why.
void leave_out(CellResult& result, const DecodeOptions& options,
               const std::vector<DecodeLaunch>& launches, const PagedAttentionParams& params) {
    std::string left_out;
    std::erase_if(result.reads, [&](const ReadResult& read) {
        if (read.role == "alone") {
            return false;
        }
        const DecodeLaunch& launch = find_launch(launches, read.read);
        const auto reason = launch.reason_not_to ? launch.reason_not_to(params) : std::nullopt;
        left_out += reason ? fmt::format("{}: {}; ", read.read, *reason) : "";
        return reason || !options.takes(read.read);
    });
    if (std::ranges::all_of(result.reads,
                            [](const ReadResult& read) { return read.role == "alone"; })) {
        result.skipped = left_out + "no read is left";
    }
}

}  // namespace

CellResult measure(const DecodeDay& day, const DecodeOptions& options, const ReadCell& cell) {
    Measurement measurement{
        .result = foretell(day, cell, options.as_peers), .replays = {}, .num_reads = {}};
    CellResult& result = measurement.result;
    Rotation rotation = rotation_of(result.kv_bytes);
    if (options.as_peers) {
        rotation.num_reads = rotation.num_layers;
    }
    result.num_layers = rotation.num_layers;
    result.l2_bytes = l2_bytes();
    if (rotation.num_layers * result.kv_bytes > kMaxMemoryBytes) {
        result.skipped = fmt::format("{} layers take more than {} GB", rotation.num_layers,
                                     kMaxMemoryBytes / 1'000'000'000);
        return result;
    }
    RecordedReads reads(cell, rotation);
    const std::vector<DecodeLaunch> launches = decode_launches();
    leave_out(result, options, launches, reads.batch().params(0));
    if (!result.skipped.empty()) {
        return result;
    }
    record_all(launches, rotation, reads, measurement);
    const GraphReplay general = reads.general();
    GpuCheck check(reads.batch());
    result.num_checked_seqs = check.num_checked_seqs();
    result.facts = {
        {"reads_of_a_replay", static_cast<double>(measurement.num_reads.back())}};  // the ceilings'
    const auto check_reads = [&] { check_all(reads, check, general, measurement); };
    if (options.check_only) {
        check_reads();
        return result;
    }
    CudaEventClock clock(reads.stream());
    if (options.as_peers) {
        check_reads();
        set_timings(measurement, time_alone(clock, measurement.replays, options.num_samples));
        check_reads();
        return result;
    }
    // The settle call is a replay that nobody times: the GPU is busy with it while the host hands
    // over the events and the timed replay, so the sample holds no host time.
    set_timings(measurement, time_in_turn(clock, std::span(measurement.replays),
                                          {.num_samples = options.num_samples,
                                           .num_warmup = 2,
                                           .settle_calls = 1,
                                           .check = check_reads}));
    return result;
}

}  // namespace nanoserve::gpu_bench
