// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"
#include "prediction.hpp"

#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/bench/time_read.hpp>

#include <fmt/core.h>
#include <gpu_bench/device_batch.hpp>
#include <gpu_bench/gpu_check.hpp>
#include <gpu_bench/gpu_facts.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/clock.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/gather_attention.hpp>
#include <kernels/general_attention.hpp>

#include <algorithm>

namespace nanoserve::day21 {
namespace {

using gpu_bench::CellResult;
using gpu_bench::DeviceBatch;
using gpu_bench::DeviceBuffer;
using gpu_bench::GpuCheck;
using gpu_bench::PoolOrder;
using gpu_bench::ReadCell;
using gpu_bench::Stream;

// K and V of so many bytes lie between two reads of the same rows: far more than the L2 holds
// (60 MB on an H200), so every read is a cold one.
constexpr std::int64_t kRotatedBytes = 400'000'000;
// Pools and the copy that gather makes of one layer.
constexpr std::int64_t kMaxMemoryBytes = 64'000'000'000;

std::int64_t layers_for(std::int64_t layer_bytes) {
    return std::max<std::int64_t>(2, kRotatedBytes / layer_bytes + 1);
}

// The reads of one cell, each recorded once over all layers.
class RecordedReads {
  public:
    explicit RecordedReads(const DeviceBatch& batch)
        : batch_(batch), workspace_(gather_workspace_bytes(batch.params(0))) {}

    //! [replay]
    // A sample is one replay: the kernel on layer 0, 1, ..., each with pools of its own.
    [[nodiscard]] GraphReplay kernel() const {
        return over_layers(
            [this](std::int64_t layer) { general_attention(batch_.params(layer), stream()); });
    }
    //! [replay]
    [[nodiscard]] GraphReplay gather() const {
        return over_layers([this](std::int64_t layer) {
            gather_attention(batch_.params(layer), workspace_.data(), workspace_.num_bytes(),
                             stream());
        });
    }
    [[nodiscard]] GraphReplay load_only_nhd() const {
        return over_layers([this](std::int64_t layer) {
            nanoserve::load_only_nhd(batch_.params(layer), nullptr, stream());
        });
    }
    [[nodiscard]] GraphReplay load_only_hnd() const {
        return over_layers([this](std::int64_t layer) {
            nanoserve::load_only_hnd(batch_.params_as(PoolOrder::hnd, layer), nullptr, stream());
        });
    }
    [[nodiscard]] GraphReplay read_stream() const {
        return over_layers([this](std::int64_t layer) {
            nanoserve::read_stream(batch_.layer_data(layer), batch_.layer_bytes(), nullptr,
                                   stream());
        });
    }

    [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
    void synchronize() const { stream_.synchronize(); }

  private:
    template <class Read>
    [[nodiscard]] GraphReplay over_layers(Read read) const {
        read(0);  // the first launch of a kernel loads its code: not a thing to record
        return GraphReplay(stream(), [&] {
            for (std::int64_t layer = 0; layer < batch_.num_layers(); ++layer) {
                read(layer);
            }
        });
    }

    const DeviceBatch& batch_;
    Stream stream_;
    DeviceBuffer workspace_;  // of one gathered layer, used by all in turn
};

// One launch of the kernel and the wait for it, each time on another layer.
ReadTiming time_as_host(const DeviceBatch& batch, const RecordedReads& reads,
                        std::size_t num_samples) {
    std::int64_t layer = 0;
    const TimingOptions options{.num_samples = num_samples,
                                .before_sample = [&] { layer = (layer + 1) % batch.num_layers(); }};
    SteadyClock clock;
    return time_read(
        clock,
        [&] {
            general_attention(batch.params(layer), reads.stream());
            reads.synchronize();
        },
        options);
}

// A timing of replays as a timing of single reads.
ReadTiming per_read(const ReadTiming& replays, std::int64_t num_layers) {
    return ReadTiming(replays.samples_ns(), static_cast<std::size_t>(num_layers));
}

CellResult empty_result(const ReadCell& cell) {
    CellResult result;
    result.cell = cell;
    result.kv_bytes = cell.shape.kv_bytes(cell.num_seqs * cell.seq_len, cell.dtype);
    const std::int64_t pool_tokens =
        cell.num_seqs * blocks_needed(cell.seq_len, cell.block_size) * cell.block_size;
    const std::int64_t layer_bytes = cell.shape.kv_bytes(pool_tokens, cell.dtype);
    result.num_layers = layers_for(layer_bytes);
    result.l2_bytes = gpu_bench::l2_bytes();
    const std::int64_t memory_bytes = (result.num_layers + 1) * layer_bytes;
    if (memory_bytes > kMaxMemoryBytes) {
        result.skipped = fmt::format("pools of {} layers and a gathered copy take {} GB, of {}",
                                     result.num_layers, memory_bytes / 1'000'000'000,
                                     kMaxMemoryBytes / 1'000'000'000);
    }
    return result;
}

std::optional<double> to_us(std::optional<double> ns) {
    return ns ? std::optional(*ns / 1e3) : std::nullopt;
}

}  // namespace

CellResult measure(const Options& options, const ReadCell& cell) {
    CellResult result = empty_result(cell);
    if (!result.skipped.empty()) {
        return result;
    }
    const DeviceBatch batch(cell, result.num_layers);
    const RecordedReads reads(batch);
    const GraphReplay kernel = reads.kernel();
    const GraphReplay gather = reads.gather();
    GpuCheck check(batch);
    result.num_checked_seqs = check.num_checked_seqs();

    double kernel_error = 0.0, gather_error = 0.0;
    const auto check_both = [&] {
        gather_error = check("gather", reads.stream(), gather);
        const std::vector<std::byte> gathered = check.outputs();
        kernel_error = check("kernel", reads.stream(), kernel);
        check.require_same("kernel", "gather", gathered);
    };
    if (options.check_only) {
        check_both();
    }

    //! [time]
    // The settle call is a replay that nobody times: the GPU is busy with it while the host hands
    // over the events and the timed replay, so the sample holds no host time.
    TimingOptions timing{.num_samples = options.num_samples, .num_warmup = 2, .settle_calls = 1};
    CudaEventClock clock(reads.stream());
    const auto time_alone = [&](const GraphReplay& replay) {
        return options.check_only ? ReadTiming()
                                  : per_read(time_read(clock, replay, timing), result.num_layers);
    };
    const ReadTiming load_only_nhd = time_alone(reads.load_only_nhd());
    const ReadTiming load_only_hnd = time_alone(reads.load_only_hnd());
    const ReadTiming read_stream = time_alone(reads.read_stream());
    ReadComparison comparison;
    ReadTiming host;
    if (!options.check_only) {
        timing.check = check_both;
        comparison = compare_reads(clock, gather, kernel, timing);
        host = time_as_host(batch, reads, options.num_samples);
    }
    //! [time]

    const PredictedGpu gpu;
    const PredictedRead read = {cell.shape, cell.num_seqs, cell.seq_len, cell.dtype};
    const auto per_layer = [&](const ReadTiming& replays) {
        return per_read(replays, result.num_layers);
    };
    result.reads = {
        {"kernel", "NHD", "candidate", per_layer(comparison.candidate),
         predicted_kernel_us(gpu, read), kernel_error, comparison},
        {"gather", "NHD", "baseline", per_layer(comparison.baseline),
         predicted_gather_us(gpu, read), gather_error},
        {"load_only_nhd", "NHD", "alone", load_only_nhd, predicted_load_only_us(gpu, read)},
        {"load_only_hnd", "HND", "alone", load_only_hnd, predicted_load_only_us(gpu, read)},
        {"read_stream", "", "alone", read_stream, predicted_stream_us(gpu, read)},
    };
    result.facts = {{"kernel.host_best_us", to_us(host.best_ns())},
                    {"kernel.host_median_us", to_us(host.median_ns())}};
    return result;
}

}  // namespace nanoserve::day21
