// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu_facts.hpp"

#include "device_memory.hpp"

#include <nanoserve/report/signal_hold.hpp>

#include <fmt/core.h>
#include <kernels/ceilings.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/cuda_error.hpp>
#include <kernels/device.hpp>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nanoserve::gpu_bench {
namespace {

struct ClosePipe {
    void operator()(std::FILE* pipe) const noexcept { (void)pclose(pipe); }
};

// The first line that a command prints; empty when it is missing or fails.
std::string first_line_of(const std::string& command) {
    const std::unique_ptr<std::FILE, ClosePipe> pipe(popen(command.c_str(), "r"));
    std::array<char, 256> line{};
    if (!pipe || std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) {
        return "";
    }
    std::string text = line.data();
    text.erase(text.find_last_not_of(" \n") + 1);
    return text;
}

// "a, b, c" as a, b and c; no more than there are.
std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> fields;
    while (!line.empty()) {
        const std::size_t comma = line.find(", ");
        fields.emplace_back(line.substr(0, comma));
        line = comma == std::string_view::npos ? "" : line.substr(comma + 2);
    }
    return fields;
}

// name, driver, SM clock, memory clock of the current device, or nothing.
std::vector<std::string> query_nvidia_smi() {
    int device = 0;
    std::array<char, 32> bus_id{};
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), device));
    auto fields = fields_of(first_line_of(
        fmt::format("nvidia-smi -i {} --query-gpu=name,driver_version,clocks.sm,clocks.mem "
                    "--format=csv,noheader 2>/dev/null",
                    bus_id.data())));
    return fields.size() == 4 ? fields : std::vector<std::string>{};
}

// Keeps the memory busy for about a second, which is longer than nvidia-smi takes.
class Load {
  public:
    Load() : buffer_(std::size_t{1} << 30), checksum_(sizeof(std::uint32_t)) {
        read();  // the first launch of a kernel loads its code: not a thing to record
        const GraphReplay reads(stream_.get(), [this] {
            for (int i = 0; i < 100; ++i) {  // 25 ms
                read();
            }
        });
        for (int i = 0; i < 40; ++i) {
            reads.launch();
        }
    }
    ~Load() { (void)cudaStreamSynchronize(stream_.get()); }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

  private:
    void read() const {
        read_stream(buffer_.data(), static_cast<std::int64_t>(buffer_.num_bytes()),
                    checksum_.as<std::uint32_t>(), stream_.get());
    }

    DeviceBuffer buffer_, checksum_;
    Stream stream_;
};

std::string device_name() {
    int device = 0;
    cudaDeviceProp properties{};
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
    return properties.name;
}

}  // namespace

std::optional<std::string> reason_for_no_measurement() {
    const report::SignalHold hold;
    const auto reason = reason_for_no_device();
    if (!reason) {
        NANOSERVE_CUDA_TRY(cudaFree(nullptr));  // makes the context
    }
    return reason;
}

report::GpuFacts gpu_facts() {
    const Load load;
    const std::vector<std::string> fields = query_nvidia_smi();
    report::GpuFacts facts{
        .name = device_name(),
        .cuda = fmt::format("{}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10),
        .driver = "unknown",
        .clocks = "unknown"};
    if (!fields.empty()) {
        facts.driver = fields[1];
        facts.clocks = fmt::format("SM {}, memory {}, under load", fields[2], fields[3]);
    }
    return facts;
}

std::int64_t l2_bytes() {
    int device = 0, num_bytes = 0;
    NANOSERVE_CUDA_TRY(cudaGetDevice(&device));
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_bytes, cudaDevAttrL2CacheSize, device));
    return num_bytes;
}

}  // namespace nanoserve::gpu_bench
